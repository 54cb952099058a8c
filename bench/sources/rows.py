"""JSON lines and parquet of 2 KB rows to v0, with a declared mapping, beside a plain loop of Python's own libraries.

Ours does what `gristmill make` does: reads, maps, checks, hashes, writes gzip with the index of ids. The loop reads,
maps and writes gzip of the same level of effort. Both write the same documents, which is compared first. Figures are
MB of the uncompressed JSON of the rows, for each second of CPU. Imports are not counted.

Run as `python -m bench.sources.rows [ROWS]`.
"""

import gzip
import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness.cost import Cost
from bench.inputs.corpus import paragraphs
from gristmill.api import make, open_lake

ROWS = 15_000
SIZE = 2_000
TURNS = 5
ASKED = {"jsonl": 80.0, "parquet": 100.0}
READERS = {"jsonl": "JsonLines", "parquet": "ParquetRows"}
_SHELF = """
from gristmill.readers.{kind} import {reader}
from gristmill.recipes.row_format import Text
from gristmill.recipes.source import Everything, Source

ROWS = Source(
    name="{kind}",
    convert={reader}(
        source="rows",
        format=Text(text_key="content"),
        id_template="{{repo}}/{{path}}",
        created_key="at",
        rename={{"meta.lang": "language"}},
        leave_out=("junk",),
    ),
    partition=Everything(),
    raw={raw!r},
)
"""


def made_rows(count: int, seed: int = 20_261_122) -> Iterator[dict[str, Any]]:
    """Rows of about 2 KB of JSON."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    stock = paragraphs()
    for number in range(count):
        yield {
            "repo": f"owner-{number % 97}/name",
            "path": f"docs/{number:07}.txt",
            "content": "\n\n".join(chance.choices(stock, k=12))[: SIZE - 200],
            "at": "2024-05-06T07:08:09Z",
            "meta": {"lang": "en", "stars": number % 1000, "score": number / 7},
            "junk": "x" * 20,
        }


def write_raw(raw: Path, rows: list[dict[str, Any]]) -> int:
    """Writes the rows in both formats. Returns the size of their JSON in bytes."""
    lines = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    for kind in ASKED:
        (raw / kind).mkdir(parents=True)
    (raw / "jsonl" / "a.jsonl.gz").write_bytes(gzip.compress(lines, 6))
    pq.write_table(pa.Table.from_pylist(rows), raw / "parquet" / "a.parquet", compression="zstd", row_group_size=5000)
    return len(lines)


def ours(work: Path, kind: str, turn: int) -> tuple[Cost, bytes]:
    """Makes v0 in a new lake; the documents are those of its one shard."""
    (work / f"lake-{kind}-{turn}").mkdir()
    lake = open_lake(str(work / f"lake-{kind}-{turn}"), shelves=("rowshelf",))
    cost, _ = _timed(lambda: list(make(lake, f"{kind}/v0", shelves=("rowshelf",))))
    (shard,) = (work / f"lake-{kind}-{turn}").glob(f"sources/{kind}/v0/documents/**/*.gz")
    return cost, gzip.decompress(shard.read_bytes())


def loop(work: Path, kind: str) -> tuple[Cost, bytes]:
    """The same by a loop over Python's gzip and json, or over pyarrow's rows."""
    path = work / f"loop-{kind}.jsonl.gz"
    return _timed(lambda: _loop(work / "raw" / kind, path))[0], gzip.decompress(path.read_bytes())


def _loop(raw: Path, path: Path) -> None:
    with gzip.open(path, "wt", 3, encoding="utf-8") as sink:
        for row in _rows(raw):
            meta = dict(row["meta"])
            document = {
                "id": f"{row['repo']}/{row['path']}",
                "text": row["content"],
                "source": "rows",
                "created": row["at"],
            }
            language = meta.pop("lang")
            document["metadata"] = {"repo": row["repo"], "path": row["path"], "meta": meta, "language": language}
            sink.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


def _rows(raw: Path) -> Iterator[dict[str, Any]]:
    if raw.name == "parquet":
        for batch in pq.ParquetFile(raw / "a.parquet").iter_batches(1000):
            yield from batch.to_pylist()
        return
    with gzip.open(raw / "a.jsonl.gz") as file:
        for line in io.BufferedReader(file):
            yield json.loads(line)


def _timed(work: Callable[[], Any]) -> tuple[Cost, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    done = work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall), done


def main() -> int:
    """Prints the figures. The exit code is 1 if the documents differ."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory(prefix="gristmill-rows-") as temporary:
        work = Path(temporary)
        shelf = work / "rowshelf" / "sources"
        shelf.mkdir(parents=True)
        for kind, reader in READERS.items():
            (shelf / f"{kind}.py").write_text(_SHELF.format(kind=kind, reader=reader, raw=str(work / "raw" / kind)))
        sys.path.insert(0, str(work))
        size = write_raw(work / "raw", list(made_rows(count)))
        print(f"{count:,} rows, {size / 1e6:.1f} MB of JSON, the best of {TURNS}")
        return max(_compared(work, kind, size) for kind in ASKED)


def _compared(work: Path, kind: str, size: int) -> int:
    """The figures of one format."""
    turns = [ours(work, kind, turn) for turn in range(TURNS)]
    best = min((cost for cost, _ in turns), key=lambda cost: cost.cpu_s)
    peer, documents = loop(work, kind)
    expected = [json.loads(line) for line in documents.splitlines()]
    same = all([json.loads(line) for line in data.splitlines()] == expected for _, data in turns)
    print(
        f"{kind:<8} ours {size / 1e6 / best.cpu_s:6.1f} MB/CPU-s ({ASKED[kind]:.0f} asked), loop"
        f" {size / 1e6 / peer.cpu_s:6.1f}; CPU {peer.cpu_s / best.cpu_s:.2f}x, wall {peer.wall_s / best.wall_s:.2f}x;"
        f" documents {'are the same' if same else 'DIFFER'}"
    )
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
