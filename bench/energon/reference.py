"""Whether an export has all documents of the mix, read by the `json` and `tarfile` of Python without our own code."""

import gzip
import json
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.energon.export_lake import MIX
from bench.harness.place import SNAPSHOT, SOURCE

Sample = dict[str, Any]
FIELDS = {
    "copied": None,
    "mapped": lambda row: {"caption": row["text"], "page": row["metadata"]["url"], "name": row["id"]},
    "one": lambda row: {"txt": row["text"]},
    "two": lambda row: {"txt": row["text"], "json": row["metadata"]},
}
"""What a sample of each kind has, made of a document; None: the document."""


def same(lake: Path, kind: str) -> bool:
    """Whether the parts of a kind have the documents of the mix's shards, in their order, and sound indexes."""
    make = FIELDS[kind]
    shards = lake / "mixes" / MIX / "documents" / SOURCE / SNAPSHOT
    wanted = [[make(row) if make else row for row in _rows(path)] for path in sorted(shards.glob("*.jsonl.gz"))]
    found = []
    for part in (lake / "exports" / MIX / kind / SOURCE / SNAPSHOT).glob("part-*"):
        lines = part / "train.jsonl"
        found.append(_of_lines(lines) if lines.exists() else _of_tars(sorted(part.glob("*.tar"))))
    return sorted(map(_text, wanted)) == sorted(map(_text, found))


def _text(samples: list[Sample]) -> str:
    return json.dumps(samples, sort_keys=True)


def _rows(path: Path) -> Iterator[Sample]:
    with gzip.open(path) as file:
        yield from map(json.loads, file)


def _of_lines(path: Path) -> list[Sample]:
    """The samples of a file of lines; none if its index has other offsets."""
    samples, ends = [], [0]
    with path.open("rb") as file:
        for line in file:
            samples.append(json.loads(line))
            ends.append(ends[-1] + len(line))
    return samples if _index(path) == ends else []


def _of_tars(paths: list[Path]) -> list[Sample]:
    """The samples of tars; none if an index has other offsets."""
    samples: list[Sample] = []
    for path in paths:
        starts: list[int] = []
        last = ""
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, part = member.name.partition(".")
                if key != last:
                    samples.append({})
                    starts.append(member.offset)
                    last = key
                file = tar.extractfile(member)
                data = file.read() if file else b""
                samples[-1][part] = json.loads(data) if part == "json" else data.decode()
            starts.append(tar.offset)
        if _index(path) != starts:
            return []
    return samples


def _index(path: Path) -> list[int]:
    data = Path(f"{path}.idx").read_bytes()
    return list(struct.unpack(f"<{len(data) // 8}Q", data))
