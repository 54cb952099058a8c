"""The reference of the bench of exports sees each byte that differs."""

import gzip
import io
import json
import struct
import tarfile
from pathlib import Path

import pytest

from bench.energon.reference import same

ROWS = [{"id": str(number), "text": f"text {number}", "metadata": {"url": "u"}} for number in range(3)]


def lake(root: Path, kind: str) -> Path:
    """A lake with one shard of a mix; the folder of the one part of its export."""
    documents = root / "mixes" / "plain" / "documents" / "bench" / "2024"
    documents.mkdir(parents=True)
    with gzip.GzipFile(documents / "a.jsonl.gz", "wb", mtime=0) as file:
        file.write("".join(json.dumps(row) + "\n" for row in ROWS).encode())
    part = root / "exports" / "plain" / kind / "bench" / "2024" / "part-1"
    part.mkdir(parents=True)
    return part


def index(path: Path, offsets: list[int]) -> None:
    Path(f"{path}.idx").write_bytes(struct.pack(f"<{len(offsets)}Q", *offsets))


def test_a_line_or_an_offset_that_differs_is_seen(tmp_path: Path) -> None:
    file = lake(tmp_path, "copied") / "train.jsonl"
    lines = [json.dumps(row) + "\n" for row in ROWS]
    file.write_text("".join(lines))
    ends = [sum(map(len, lines[:number])) for number in range(4)]
    index(file, ends)
    assert same(tmp_path, "copied")
    index(file, [*ends[:-1], ends[-1] - 1])
    assert not same(tmp_path, "copied")
    index(file, ends)
    file.write_text("".join(lines).replace("text 1", "text 7"))
    assert not same(tmp_path, "copied")


@pytest.mark.parametrize("kind", ["one", "two"])
def test_a_sample_a_part_or_an_offset_that_differs_is_seen(tmp_path: Path, kind: str) -> None:
    path = lake(tmp_path, kind) / "train-00000.tar"

    def write(texts: list[str]) -> None:
        with tarfile.open(path, "w") as tar:
            for number, text in enumerate(texts):
                parts = {"txt": text.encode(), "json": b'{"url": "u"}'}
                for part in ("txt", "json")[: 1 if kind == "one" else 2]:
                    info = tarfile.TarInfo(f"{number}.{part}")
                    info.size = len(parts[part])
                    tar.addfile(info, io.BytesIO(parts[part]))

    step = 1024 if kind == "one" else 2048
    offsets = [0, step, 2 * step, 3 * step]
    write(["text 0", "text 1", "text 2"])
    index(path, offsets)
    assert same(tmp_path, kind)
    index(path, [0, *offsets[:3]])
    assert not same(tmp_path, kind)
    index(path, offsets)
    write(["text 0", "text 7", "text 2"])
    assert not same(tmp_path, kind)
