"""What we write beside tars and JSON lines is what the real tool's `prepare` writes for the same files."""

import io
import shutil
from pathlib import Path

import pytest
from energonsets import SETS, SmallSet
from peer import Ask

from gristmill.energon.formats.info import INFO, META_FOLDER
from gristmill.energon.formats.jsonl_index import jsonl_offsets
from gristmill.energon.formats.split import SPLIT_YAML, split_by_ratio, split_bytes
from gristmill.energon.formats.sqlite_index import index_rows, index_tables
from gristmill.formats.tar.samples import index_bytes

pytestmark = pytest.mark.slow
INDEX = "index.sqlite"
PREPARE = ["--non-interactive", "--sample-type", "CrudeWebdataset", "--no-progress", "--num-workers", "2"]
LINES = {
    "plain": b'{"a": 1}\n{"b": "x\xe2\x80\xa8y"}\n{"c": []}\n',
    "blank": b'\n \n{"a": 1}\r\n\n\n  {"b": 2}  \n{"c": 3}',
}


@pytest.mark.parametrize("small", SETS, ids=lambda small: small.kind or "crude")
def test_indexes_counts_and_splits_are_those_of_the_real_tool(energon: Ask, tmp_path: Path, small: SmallSet) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    small.write(ours)
    shutil.copytree(ours / "shards", theirs / "shards", ignore=shutil.ignore_patterns("*.idx"))
    [done] = energon({"do": "prepare", "path": str(theirs), "args": [*PREPARE, "--split-ratio", "2,1,0"]})
    assert done["code"] == 0, done["said"]
    shards = sorted(path.relative_to(ours).as_posix() for path in ours.glob("shards/*.tar"))
    for shard in shards:
        assert (ours / f"{shard}.idx").read_bytes() == (theirs / f"{shard}.idx").read_bytes()
    assert (ours / META_FOLDER / INFO).read_bytes() == (theirs / META_FOLDER / INFO).read_bytes()
    splits = split_bytes(split_by_ratio(shards, {"train": 2, "val": 1, "test": 0}))
    assert (theirs / META_FOLDER / SPLIT_YAML).read_bytes() == splits
    assert index_tables(ours / META_FOLDER / INDEX) <= index_tables(theirs / META_FOLDER / INDEX)
    for table in ("samples", "sample_parts"):
        rows = list(index_rows(ours / META_FOLDER / INDEX, table))
        assert rows
        assert rows == list(index_rows(theirs / META_FOLDER / INDEX, table))


@pytest.mark.parametrize("name", LINES)
def test_the_index_of_json_lines_is_that_of_the_real_tool(energon: Ask, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(LINES[name])
    [done] = energon({"do": "prepare", "path": str(path), "args": ["--non-interactive"]})
    assert done["code"] == 0, done["said"]
    offsets = [offset for batch in jsonl_offsets(io.BytesIO(LINES[name]), name) for offset in batch.tolist()]
    assert (tmp_path / f"{name}.jsonl.idx").read_bytes() == index_bytes(offsets)
