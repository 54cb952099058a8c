import gzip
import json
from dataclasses import replace

import msgspec
import pytest
from msgspec.structs import replace as replace_struct
from testkit import SHELVES, SNAPSHOT, Mill, make_documents, notes

from gristmill.errors import DataError
from gristmill.raw_data.erasures import WITHDRAWN, ErasedObject, ErasureRecord
from gristmill.stages.conversion import step
from gristmill.stages.conversion.step import ConversionStep


def test_a_raw_object_becomes_a_shard_of_its_name(mill: Mill) -> None:
    for name in ("a.jsonl.gz", "b/c.json.gz", "d.jsonl.zst", "e"):
        stem = name.partition(".")[0]
        rows = [{"id": stem, "text": "t"}]
        data = gzip.compress(json.dumps(rows[0]).encode(), mtime=0) if name.endswith(".gz") else b""
        mill.raw(name, data if name.endswith(".gz") else b'{"id":"e","text":"t"}' if name == "e" else _zst(rows[0]))
    mill.convert()
    assert sorted(mill.table(mill.documents())) == ["a", "b/c", "d", "e"]
    assert mill.ids(mill.documents(), "b/c") == ["b/c"]


def _zst(row: dict[str, str]) -> bytes:
    import zstandard

    return zstandard.compress(json.dumps(row).encode() + b"\n")


def test_a_hashed_shard_holds_its_objects_in_the_order_of_their_names(mill: Mill) -> None:
    for name in "fedcba":
        notes(mill, f"{name} text", name=f"{name}.txt")
    ledger = mill.convert("notes")
    assert ledger.totals["rows"] == 6
    for shard in mill.table(mill.documents(source="notes")).values():
        inputs = [each.shard for each in shard.inputs]
        assert inputs == sorted(inputs)
        assert mill.ids(mill.documents(source="notes"), shard.name) == [name[0] for name in inputs]


def test_a_shard_of_another_recipe_is_not_kept_because_its_raw_bytes_are_the_same(mill: Mill) -> None:
    draft = replace(mill.source(), draft=True)
    mill.raw_shards(1)
    mill.make(ConversionStep(draft, SNAPSHOT, SHELVES))
    mill.raw_shards(1)  # the same bytes, another etag
    step = ConversionStep(replace(draft, select=r"gz$"), SNAPSHOT, SHELVES)
    mill.make(step)
    assert mill.table(mill.documents())["a"].recipe == step.recipe.digest


def test_shards_that_would_be_one_file_on_some_disks_are_refused_and_those_that_exist_stay(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("Tale", "tale", "b")):
        mill.raw(f"{name}.jsonl.gz", make_documents(1, start=number))
    words = r"^sources/pages/raw/2024/Tale\.jsonl\.gz and sources/pages/raw/2024/tale\.jsonl\.gz differ only by case"
    with pytest.raises(DataError, match=f"{words}.*; rename one$"):
        mill.convert()
    with monkeypatch.context() as before:  # as a version before this rule made them
        before.setattr(step, "names_equal_on_disk", lambda _: {})
        assert mill.convert().totals["rows"] == 3
    mill.raw("c.jsonl.gz", make_documents(1, start=3))
    assert mill.convert().totals["rows"] == 4
    assert mill.ground == ["c"]


def test_a_snapshot_of_which_erasures_left_nothing_is_made_without_shards(mill: Mill) -> None:
    """Else its documents would stay for good. One object that no record names may be lost."""
    mill.raw_shards(2)
    mill.convert()
    paths = [f"sources/pages/raw/{SNAPSHOT}/{name}.jsonl.gz" for name in "ab"]
    mill.store.delete(paths)
    gone = ErasedObject(before="0", after="", records=1)
    for objects in ({paths[0]: gone}, {paths[0]: gone, paths[1]: replace_struct(gone, after=None)}):
        record = ErasureRecord(schema=1, documents=(), objects=objects, left=(), done=False)
        mill.store.put(f"{WITHDRAWN}{1:016x}.json", msgspec.json.encode(record))
        with pytest.raises(DataError, match="has no raw objects that the source reads"):
            mill.convert()
    record = ErasureRecord(schema=1, documents=(), objects={paths[1]: gone}, left=(), done=True)
    mill.store.put(f"{WITHDRAWN}{2:016x}.json", msgspec.json.encode(record))
    mill.convert()
    assert mill.table(mill.documents()) == {}
