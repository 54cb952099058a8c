"""Many small Markdown files from raw to v0 by the command line, two workers: into 32 shards, and one shard for each.

Then one file is changed: its shard alone is ground again.
"""

import sys
from pathlib import Path

from bench.harness.cost import Cost, timed
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.inputs.corpus import write_markdown
from bench.inputs.shelf import PACKAGE, raw_folder, variables
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.folder import FolderStore

FILES = 10_000
SHARDS = 32
SECONDS = 8.0
PARTITION = place(documents_asset(SOURCE, "v0"), SNAPSHOT)

RECIPE = """
from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Hashed, OneToOne, Source


def convert(raw: RawObject) -> Iterator[Document]:
    yield Document(id=raw.name, text=raw.read().decode(), source="bench")


BENCH = Source(name="bench", convert=convert, shards={rule})
"""


def run(work: Path, files: int = FILES) -> list[Row]:
    """Three rows; `work` is an empty folder."""
    rows = [_fresh(work / "hashed", files, f"Hashed({SHARDS})", SHARDS)]
    (raw_folder(work / "hashed" / "lake") / "00" / "0.md").write_text("# another\n")
    before = _read(work / "hashed")[1]
    cost = _make(work / "hashed")
    after = _read(work / "hashed")[1]
    ground = sum(old.content != new.content for old, new in zip(before, after, strict=True))
    rows.append(_row(f"{files:,} small files, one changed", cost, agree=ground == 1, note=f"{ground} shard ground"))
    rows.append(_fresh(work / "single", files, "OneToOne()", files))
    return rows


def _fresh(work: Path, files: int, rule: str, shards: int) -> Row:
    for folder in (work / PACKAGE / "sources", work / PACKAGE):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    (work / PACKAGE / "sources" / "bench.py").write_text(RECIPE.format(rule=rule))
    size = write_markdown(raw_folder(work / "lake"), files)
    cost = _make(work)
    ledger, _ = _read(work)
    totals = ledger.totals
    note = f"{totals['rows']:,} rows of {size / 1e6:.0f} MB in {totals['shards']:,} shards"
    agree = (totals["rows"], totals["shards"]) == (files, shards)
    return _row(f"{files:,} small files, {rule}", cost, agree=agree, note=note)


def _row(name: str, cost: Cost, *, agree: bool, note: str) -> Row:
    met = cost.wall_s < SECONDS
    return Row(name=name, ours=cost, agree=agree, bar=f"< {SECONDS:.0f} s wall", met=met, note=note)


def _make(work: Path) -> Cost:
    env = variables(work, work / "lake") | {"GRISTMILL_SHELVES": PACKAGE}
    command: list[str | Path] = [sys.executable, "-m", "gristmill", "make", work / "lake", SOURCE, "--workers", "2"]
    return timed(command, work / "make.log", env)


def _read(work: Path) -> tuple[Ledger, list[Shard]]:
    ledger, table = read_ledger(FolderStore(str(work / "lake")), PARTITION)
    return ledger, list(table)
