"""WARC to documents: WarcPages beside the bare loop of the same libraries, over the same records.

The bare loop is fastwarc's iterator and resiliparse's extraction of the main text, without digests, ids, metadata,
charset rules or checks of damage. The texts of both are compared first. Then both read the records in turn, in this
process, and the figure is the median of the turns' ratios of CPU: a turn that other work slows down does not decide.

Where dolma's environment is there (bench/harness/environments.py makes it), `dolma warc` reads the same file, and its
CPU is shown, and that of its start. Its extractor has other options, so texts are not compared.

Run as `python -m bench.sources.warc [TURNS]`; GRISTMILL_SAMPLE_DATA names the sample data.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLTree

from bench.harness.cost import BenchError, timed
from bench.harness.environments import CACHE
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.web.pages import WarcPages
from gristmill.recipes.raw_object import RawObject

FILES = ("common-crawl/2020-34", "wget-crawl/2024-04", "common-crawl/2024-22")
COPIES = 3
ASKED = 1.25


def ours(path: Path) -> dict[str, str]:
    """The text of each page by its id, by our reader."""
    raw = RawObject(FolderStore(str(path.parent)), path.name, path.name, path.stat().st_size)
    return {row.id: row.text for row in WarcPages(source="web")(raw) if isinstance(row, Document)}


def bare(path: Path) -> dict[str, str]:
    """The same by the libraries alone."""
    found = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="all"):
            if record.http_headers.status_code != 200 or "html" not in (record.http_content_type or ""):
                continue
            body = record.reader.read()
            tree = HTMLTree.parse_from_bytes(body, record.http_charset or detect_encoding(body) or "utf-8")
            found[record.headers["WARC-Record-ID"]] = extract_plain_text(
                tree, main_content=True, alt_texts=False
            ).strip()
    return found


def timed_cpu(run: Callable[[Path], dict[str, str]], path: Path) -> float:
    begun = time.process_time()
    run(path)
    return time.process_time() - begun


def turn(path: Path, *, ours_first: bool) -> tuple[float, float]:
    """The CPU seconds of ours and of the bare loop, one straight after the other."""
    if ours_first:
        mine = timed_cpu(ours, path)
        return mine, timed_cpu(bare, path)
    theirs = timed_cpu(bare, path)
    return timed_cpu(ours, path), theirs


def dolma_cpu(path: Path, work: Path) -> str:
    """What `dolma warc` takes, and its start, if its environment is there."""
    program = CACHE / "dolma" / "bin" / "dolma"
    if not program.exists():
        return "dolma warc: not measured, its environment is not installed"
    command: list[str | Path] = [
        program,
        "warc",
        "--documents",
        path,
        "--destination",
        work / "out",
        "--processes",
        "1",
    ]
    try:
        start = timed([program, "warc", "--help"], work / "dolma.log")
        cost = timed([*command, "--source_name", "web", "--linearizer", "resiliparse"], work / "dolma.log")
    except BenchError as error:
        return f"dolma warc: failed: {str(error)[-200:]}"
    return f"dolma warc: {cost.cpu_s:.2f} CPU s, of which its help alone takes {start.cpu_s:.2f}"


def main(turns: int) -> int:
    """Prints the figures; 1 if the texts differ or ours is above what is asked for."""
    sample = Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw"
    parts = [part for name in FILES for part in sorted((sample / name).glob("*.warc.gz"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.warc.gz"
        path.write_bytes(b"".join(part.read_bytes() for part in parts) * COPIES)
        mine, theirs = ours(path), bare(path)
        same = sum(mine.get(id_) == text for id_, text in theirs.items())
        empty = sum(not text for text in theirs.values())
        print(f"{len(theirs)} pages, {same} with the same text, {empty} empty by the bare loop, ours {len(mine)}")
        costs = [turn(path, ours_first=bool(number % 2)) for number in range(turns)]
        ratio = statistics.median(mine / theirs for mine, theirs in costs)
        mine_s, theirs_s = (statistics.median(side) for side in zip(*costs, strict=True))
        print(f"ours {mine_s:.3f} CPU s, bare loop {theirs_s:.3f} CPU s, medians of {turns} turns")
        print(f"median of the ratios: {ratio:.2f} (asked: at most {ASKED})")
        print(dolma_cpu(path, Path(folder)))
    return int(ratio > ASKED or same < len(theirs) - len(theirs) // 5)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 21))
