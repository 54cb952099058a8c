"""make samples: v0 of every source of tests/support/shelves/sampleshelf, made from the sample data into a new lake.

It makes what `gristmill make` makes, one source after the other on one core, and shows a table. The exit code is 1 if a
source cannot be made, or gives no document and leaves none out by its kind, or if no source reads one of the raw files.
"""

import argparse
import bz2
import os
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gristmill.api import make, open_lake, read_catalogue
from gristmill.errors import GristmillError, shorten
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_table
from gristmill.lake.store.protocol import Store
from gristmill.recipes.source import Source
from scripts.progress import say, stop

CHECKOUT = Path(__file__).resolve().parent.parent
SHELVES = CHECKOUT / "tests" / "support" / "shelves"
SHELF = "sampleshelf"
VARIABLE = "GRISTMILL_SAMPLE_DATA"
BESIDE = CHECKOUT.parent / "shared" / "data"
WIDTH = 150
"""Longest text of reasons in the table."""
CHECKSUMS = ("_sha256.txt", "checksum.sha384")
"""Endings of files that a source reads, but that are no raw object of a shard."""


@dataclass
class Result:
    """What was made of one source.

    Attributes:
        name: of the source.
        objects: the raw objects that were read, as paths.
        documents: number of documents.
        reasons: number of rows that were left out, by reason.
        size: unpacked bytes of the raw objects.
        seconds: that `make` took.
        error: why the source failed; empty if it did not.
    """

    name: str
    objects: set[Path] = field(default_factory=set)
    documents: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    size: int = 0
    seconds: float = 0.0
    error: str = ""

    def line(self) -> str:
        """Its line in the table."""
        words = {_named(reason): n for reason, n in self.reasons.most_common()}
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in words.items())
        speed = self.size / 1e6 / self.seconds if self.seconds else 0.0
        numbers = f"{len(self.objects):>7}{self.documents:>11,}{self.size / 1e6:>9.2f}{self.seconds:>9.2f}{speed:>8.1f}"
        return f"{self.name:<24}{numbers}  {shorten(self.error or reasons or '-', WIDTH)}"


def _named(reason: str) -> str:
    """The words for a reason of the ledger."""
    return reason.replace("quarantine: ", "refused ").replace("left out: ", "")


def unpacked(path: Path) -> int:
    """The size of a raw object without its gzip or bzip2. Archives inside it stay as they are."""
    data = path.read_bytes()
    if data.startswith(b"BZh"):
        return len(bz2.decompress(data))
    return sum(map(len, _members(data))) if data.startswith(b"\x1f\x8b") else len(data)


def _members(data: bytes) -> Iterator[bytes]:
    """The plain bytes of each gzip member."""
    while data:
        member = zlib.decompressobj(31)
        yield member.decompress(data)
        data = member.unused_data


def result_of(source: Source, lake: str) -> Result:
    """Makes v0 of a source, and counts what was made."""
    result = Result(source.name)
    opened = open_lake(lake)
    begin = time.perf_counter()
    try:
        made = list(make(opened, f"{source.name}/v0", shelves=(SHELF,)))
    except GristmillError as error:
        result.error = f"FAILED: {error}"
        return result
    result.seconds = time.perf_counter() - begin
    for ledger in made:
        result.documents += ledger.totals["rows"]
        result.reasons.update(ledger.dropped)
        result.objects |= objects_of(source, opened.store(), ledger.asset, ledger.snapshot)
    result.size = sum(map(unpacked, result.objects))
    if not result.documents and not any(reason.startswith("left out: ") for reason in result.reasons):
        result.error = "FAILED: no documents"
    return result


def objects_of(source: Source, store: Store, asset: str, snapshot: str) -> set[Path]:
    """The raw objects that the shards of a partition were made from."""
    root = Path(source.raw_url or "") / source.partition.prefix(snapshot)
    return {root / each.shard for shard in read_table(store, place(asset, snapshot)) for each in shard.inputs}


def unread(results: Sequence[Result], raw: Path) -> list[str]:
    """The files of the sample data that no source reads, sorted."""
    read = {path for result in results for path in result.objects}
    every = {path for path in raw.rglob("*") if path.is_file() and not path.name.endswith(CHECKSUMS)}
    return sorted(str(path.relative_to(raw)) for path in every - read)


def convert(names: Sequence[str], lake: str) -> list[Result]:
    """Makes the sources, and shows a line for each as soon as it is made."""
    sources = read_catalogue((SHELF,)).sources
    results: list[Result] = []
    print(f"\n{'source':<24}{'objects':>7}{'documents':>11}{'MB':>9}{'seconds':>9}{'MB/s':>8}  left out", flush=True)
    for name in names or sorted(sources):
        if name not in sources:
            stop(f"{name}: no such source; there are: {', '.join(sorted(sources))}")
        results.append(result_of(sources[name], lake))
        print(results[-1].line(), flush=True)
    return results


def main() -> int:
    """Makes all sources, or those that are named. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="only these sources")
    parser.add_argument("--lake", help="a folder that keeps the documents; by default a temporary one")
    arguments = parser.parse_args()
    if VARIABLE not in os.environ and BESIDE.is_dir():
        os.environ[VARIABLE] = str(BESIDE)
    raw = Path(os.environ.get(VARIABLE, "")) / "raw"
    if VARIABLE not in os.environ or not raw.is_dir():
        say(f"skipped: {VARIABLE} names no folder with the sample data")
        return 0
    sys.path.insert(0, str(SHELVES))
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gristmill-samples-") as temporary:
        lake = Path(arguments.lake or temporary).expanduser()
        lake.mkdir(parents=True, exist_ok=True)
        results = convert(arguments.sources, str(lake))
    total = Result("all", size=sum(each.size for each in results), seconds=sum(each.seconds for each in results))
    total.objects = set().union(*(each.objects for each in results))
    total.documents = sum(each.documents for each in results)
    print(total.line())
    print(f"{time.perf_counter() - begin:.0f} seconds altogether")
    missed = [] if arguments.sources else unread(results, raw)
    for name in missed:
        print(f"no source reads {name}")
    failed = [each for each in results if each.error]
    for each in failed:
        print(f"{each.name}: {each.error}")
    return int(bool(failed or missed))


if __name__ == "__main__":
    sys.exit(main())
