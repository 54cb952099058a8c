import hashlib
from pathlib import Path

import msgspec
import pytest
from testkit import Mill, make_documents

from gristmill.errors import Conflict
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import documents_asset, place
from gristmill.lake.identity import HASH_BYTES, IdDigest
from gristmill.lake.ledger.model import Input, Quarantine
from gristmill.lake.store.folder import FolderStore

HERE = place(documents_asset("wiki", "v0"), "2024")
READ = (Input("sources/wiki/raw", "a.jsonl", "1"),)
SPEC = OneAssetSpec(place=HERE, token="token-7", recipe="recipe", code="code")


def test_a_shard_and_its_index_are_published_together_and_stamped(lake: FolderStore) -> None:
    writer = DocumentWriter(lake, SPEC, "a", READ)
    writer.write(b'{"id":"1"}\n{"id":"2"}\n', [("wiki", "1"), ("wiki", "2")])
    assert writer.rows == 2
    assert list(lake.list("")) == []
    writer.dropped, writer.counts, writer.quarantine = {"z": 1, "a": 2}, {"y": 3, "x": 4}, Quarantine(1, 2, "q")
    receipt = writer.close()
    row, stamps = receipt.row, receipt.stamps
    assert (row.name, row.rows, row.recipe, row.inputs, receipt.code) == ("a", 2, "recipe", READ, "code")
    assert (list(row.dropped), list(row.counts)) == (["a", "z"], ["x", "y"])
    assert (row.quarantine, row.members) == (Quarantine(1, 2, "q"), ((0, 0),))
    assert row.sha256 == hashlib.sha256(lake.read(HERE.shard("a"))).hexdigest()
    assert row.index == hashlib.sha256(lake.read(HERE.index("a"))).hexdigest()
    assert stamps == {entry.path: entry.version for entry in lake.list("")}
    assert set(stamps) == {HERE.shard("a"), HERE.index("a")}


def test_the_spots_stand_behind_the_index_and_count_in_its_digest(lake: FolderStore) -> None:
    digests = set()
    for raw_spans in (b"", b"raw_spans"):
        writer = DocumentWriter(lake, SPEC, "a")
        writer.write(b"{}\n", [("wiki", "1")])
        writer.packed_spans = raw_spans
        row = writer.close().row
        index = lake.read(HERE.index("a"))
        assert index[HASH_BYTES:].endswith(raw_spans)
        digests.add(row.index)
    assert len(digests) == 2


def test_a_writer_that_is_aborted_leaves_nothing(lake: FolderStore) -> None:
    writer = DocumentWriter(lake, SPEC, "a")
    writer.write(b"{}\n", [("wiki", "1")])
    writer.abort()
    assert list(lake.list("")) == []
    assert list(Path(lake.url, ".incoming").iterdir()) == []


def test_an_id_digest_is_what_the_ledger_says(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(3))
    mill.convert()
    digest = IdDigest()
    digest.update([("pages", f"doc-{n:05d}") for n in range(3)])
    (shard,) = mill.table(mill.documents()).values()
    assert shard.ids == digest.hexdigest()
    assert mill.store.read(mill.documents().index("a")).startswith(digest.index())
    assert msgspec.structs.asdict(shard)["rows"] == 3


def test_the_index_is_there_before_its_shard(lake: FolderStore) -> None:
    writer = DocumentWriter(lake, SPEC, "a")
    writer.write(b"{}\n", [("wiki", "1")])
    lake.put(HERE.shard("a"), b"another run's")
    with pytest.raises(Conflict):
        writer.close()
    writer.abort()
    assert lake.read(HERE.shard("a")) == b"another run's"
    assert lake.head(HERE.index("a")) is not None
