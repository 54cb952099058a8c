"""A changed threshold over a million documents, and over a hundred million, in a fresh process.

The lake has ledgers and columns alone: a preview without examples reads nothing else. The columns of one shard are
those of all, so what is kept is known from one shard.
"""

import os
import re
import sys
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from bench.harness.cost import ROOT, Cost, timed
from bench.harness.row import Row
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table
from gristmill.lake.ledger.model import Input, Recipe, Shard
from gristmill.lake.store.folder import FolderStore
from gristmill.scores.document_columns import DOCUMENT_FORMAT, PLAIN, DocumentColumnsHead
from gristmill.scores.label_columns import FORMAT, KEY, PLACES, ColumnsHead
from gristmill.scores.parquet_upload import write_parquet
from gristmill.scores.statistics import LabelStatistics

ROWS = 1_000_000
PACKAGE = "previewshelf"
DOCUMENTS = place(documents_asset("bench", "v0"), "2024")
LENGTH = place(attributes_asset("bench", "v0", "length-1"), "2024")
QUALITY = place(attributes_asset("bench", "v0", "quality-1"), "2024")
_SOURCE = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

BENCH = Source(name="bench", convert=DolmaLines("bench"))
"""
_MIX = """
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field, score

BENCH = Mix(
    name="bench",
    streams=(
        Stream(
            source="bench",
            version="v0",
            columns=(
                score("length-1__words", "words"),
                score("quality-1__share", "share"),
                field("metadata.stars", "BIGINT"),
            ),
            include=(Rule("long", "words >= 50", "short texts say little"),),
            exclude=(Rule("poor", "share < 0.2", "the model calls them poor"), Rule("unread", "stars = 0", "nobody")),
        ),
    ),
)
"""


def run(work: Path) -> list[Row]:
    """Two rows; `work` is an empty folder. `GRISTMILL_BENCH_PREVIEW_SHARDS=5` shrinks the second."""
    shards = int(os.environ.get("GRISTMILL_BENCH_PREVIEW_SHARDS", "100"))
    return [row_of(work, 1, ROWS, 2.0), row_of(work, shards, ROWS, 90.0)]


def row_of(work: Path, shards: int, rows: int, bar: float) -> Row:
    """The row of a lake with so many shards of so many documents.

    Args:
        work: an existing folder.
        shards: how many shards.
        rows: documents of a shard.
        bar: wall seconds.
    """
    lake = work / f"lake-{shards}"
    lake.mkdir()
    kept = shards * make_lake(lake, shards, rows)
    _write_shelf(work)
    log = work / f"preview-{shards}.log"
    env = {"PYTHONPATH": f"{ROOT}:{work}", "GRISTMILL_SHELVES": f"gristmill,{PACKAGE}"}
    command: list[str | Path] = [sys.executable, "-m", "gristmill", "preview", lake, "bench", "--rows", "0"]
    costs: list[Cost] = [
        timed([*command, "--rule", "long=words >= 80"], log, env) for _ in range(3 if shards < 5 else 1)
    ]
    middle = sorted(costs, key=lambda cost: cost.wall_s)[len(costs) // 2]
    counted = re.search(r"^  kept +([\d,]+)", Path(f"{log}.out").read_text(), re.MULTILINE)
    return Row(
        name=f"preview: a changed threshold over {shards * rows:,} documents",
        ours=middle,
        agree=counted is not None and int(counted[1].replace(",", "")) == kept,
        bar=f"< {bar:.0f} s wall",
        met=middle.wall_s < bar,
        note="from columns alone, 2 at once",
        detail={"turns": [cost.plain() for cost in costs]},
    )


def make_lake(lake: Path, shards: int, rows: int) -> int:
    """Writes ledgers and columns; the documents of a shard that words >= 80 and the other rules keep."""
    store = FolderStore(str(lake))
    random = np.random.default_rng(16)
    words = random.integers(1, 400, rows).astype(np.float64)
    share = np.round(random.random(rows), 5)
    stars = random.integers(0, 10, rows)
    ids = [f"document-{number:09d}" for number in range(rows)]
    found = {"id": pa.array(ids), "source": pa.array(["bench"] * rows), "row": pa.array(np.arange(rows))}
    sizes = {"bytes": random.integers(200, 9000, rows), "characters": random.integers(100, 8000, rows)}
    documents = found | {name: pa.array(values) for name, values in sizes.items()} | {"BIGINT metadata.stars": stars}
    head = DocumentColumnsHead(DOCUMENT_FORMAT, "0" * 32, (("metadata.stars", "BIGINT"),), {"BIGINT metadata.stars": 0})
    _write(store, DOCUMENTS, shards, rows, head, documents, [*PLAIN.items(), ("BIGINT metadata.stars", pa.int64())])
    for partition, label, values in ((LENGTH, "words", words), (QUALITY, "share", share)):
        name = f"{partition.asset.rpartition('/')[2]}__{label}"
        labels = ColumnsHead(FORMAT, "0" * 32, {label: "score"}, (LabelStatistics(label, "score", rows),))
        _write(store, partition, shards, rows, labels, found | {name: values}, [*PLACES, (name, pa.float64())])
    return int(((words >= 80) & (share >= 0.2) & (stars != 0)).sum())


def _write(
    store: FolderStore, partition: Place, shards: int, rows: int, head: object, values: dict[str, object], types: object
) -> None:
    schema = pa.schema(types, metadata={KEY: msgspec.json.encode(head)})
    digest = "0" * 32
    table = [
        Shard(f"{at:04d}", rows, rows * 900, rows * 3000, digest * 2, digest, digest, "", _inputs(partition, at))
        for at in range(shards)
    ]
    first = columns_path(partition, table[0].name)
    pieces = pa.table(values).to_batches(max_chunksize=1 << 18)
    write_parquet(store, first, schema, pieces)
    for shard in table[1:]:
        os.link(f"{store.url}/{first}", f"{store.url}/{columns_path(partition, shard.name)}")
    recipe = Recipe("bench", 1, {})
    store.put(partition.table, pack_table(table))
    store.put(partition.ledger, as_json(compose_ledger(partition, recipe, (), table)))


def _inputs(partition: Place, number: int) -> tuple[Input, ...]:
    if partition == DOCUMENTS:
        return (Input("sources/bench/raw", f"{number:04d}.jsonl.gz", "0" * 32),)
    return (Input(DOCUMENTS.asset, f"{number:04d}", "0" * 32),)


def _write_shelf(work: Path) -> None:
    for name, text in {"sources/bench.py": _SOURCE, "mixes/bench.py": _MIX}.items():
        path = work / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in (path.parent, path.parent.parent):
            (folder / "__init__.py").touch()
