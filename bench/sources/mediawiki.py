"""A wiki dump to documents: MediaWikiPages beside mwxml and mwparserfromhell used plainly.

The plain loop is mwxml's iterator, and mwparserfromhell's `parse(text).strip_code()` for each article. It is run in an
environment of its own, made once below `.cache/bench`, since this one has no mwxml. The pages that both read are
compared first; texts differ by design (references, lists, headings), so their words are compared by share.

Run as `python -m bench.sources.mediawiki [DUMP]`; by default the English dump of the sample data.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness.cost import ROOT
from bench.harness.environments import CACHE, environment
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.raw_object import RawObject

REQUIREMENTS = ROOT / "bench" / "harness" / "requirements-mediawiki.txt"
PEER = """
import bz2, json, sys, time
import mwparserfromhell, mwxml
begun = time.process_time()
found = {}
for page in mwxml.Dump.from_file(bz2.open(sys.argv[1])):
    if page.namespace == 0 and page.redirect is None:
        for revision in page:
            found[str(page.id)] = mwparserfromhell.parse(revision.text or "").strip_code()
cost = time.process_time() - begun
json.dump({"cpu_s": cost, "texts": found}, sys.stdout)
"""


def ours(path: Path) -> tuple[float, dict[str, str]]:
    """CPU seconds, and the text of each article by its id."""
    begun = time.process_time()
    raw = RawObject(FolderStore(str(path.parent)), path.name, path.name, path.stat().st_size)
    found = {row.id: row.text for row in MediaWikiPages(source="wiki")(raw) if isinstance(row, Document)}
    return time.process_time() - begun, found


def plain(path: Path) -> tuple[float, dict[str, str]]:
    """The same by the plain loop."""
    python = environment(CACHE / "mediawiki", REQUIREMENTS, ("3.11",))
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(PEER)
        program.flush()
        done = subprocess.run([python, program.name, path], capture_output=True, check=True, text=True)
    answer = json.loads(done.stdout)
    return answer["cpu_s"], answer["texts"]


def main(path: Path) -> int:
    """Prints the figures; 1 if the pages differ or ours takes more."""
    cost, mine = ours(path)
    peer_cost, theirs = plain(path)
    missing = [id_ for id_, text in theirs.items() if id_ not in mine and text.strip()]
    shares = []
    for id_, text in mine.items():
        words = set(re.findall(r"\w+", text))
        shares.append(len(words & set(re.findall(r"\w+", theirs.get(id_, "")))) / max(len(words), 1))
    print(f"{len(mine)} articles, the plain loop has {len(theirs)}; {len(missing)} of them are empty by ours alone")
    print(f"of our words the plain loop has {sum(shares) / max(len(shares), 1):.1%}")
    print(f"ours {cost:.2f} CPU s, plain loop {peer_cost:.2f} CPU s: {cost / peer_cost:.2f} (asked: at most 1)")
    return int(cost > peer_cost or mine.keys() - theirs.keys() != set())


if __name__ == "__main__":
    sample = Path(os.environ.get("GRISTMILL_SAMPLE_DATA", "")) / "raw" / "wiki" / "enwiki"
    default = next(iter(sorted(sample.glob("*.bz2"))), Path("dump.xml.bz2"))
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
