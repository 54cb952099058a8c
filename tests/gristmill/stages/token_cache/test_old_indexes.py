"""Id indexes of Gristmill 0.1, which hold hashes alone: everything that reads indexes reads them still."""

import hashlib
from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, link, put_list
from tracelake import BLOCKED, KNOWN, even, make_trace_lake, where, whose
from wholelake import reseal_shard

from gristmill.__main__ import main
from gristmill.errors import StoreError
from gristmill.lake.address import Place, place
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.stages.mixing.blocklist_inputs import hashes_by_name, shards_touched_by_blocklists
from gristmill.stages.mixing.step import stream_step
from gristmill.tracing.trace import trace_document
from gristmill.verification.ids_across import check_ids_across_snapshots

V0, V1, STREAM = (
    place(asset, SNAPSHOT)
    for asset in ("sources/pages/v0/documents", "sources/pages/v1/documents", "mixes/even/documents/pages")
)


def grow_old(mill: Mill, here: Place) -> None:
    for name, shard in mill.table(here).items():
        old = mill.store.read(here.index(name))[: 16 * shard.rows]
        mill.store.put(here.index(name), old)
        reseal_shard(mill, here, name, index=hashlib.sha256(old).hexdigest())


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("new") / "lake", even())


@pytest.fixture
def old(new: Mill, tmp_path: Path) -> Mill:
    link(new.root, tmp_path / "lake")
    mill = Mill(tmp_path / "lake")
    for here in (V0, V1, STREAM):
        grow_old(mill, here)
    return mill


@pytest.mark.slow
def test_documents_and_tokens_are_where_they_are_in_a_new_lake(new: Mill, old: Mill) -> None:
    for number in (0, 5, 31, BLOCKED, 59, 88):
        assert where(old, number) == where(new, number)
    for offset in (0, 7, 50):
        assert whose(old, offset) == whose(new, offset)


def test_an_old_lake_is_proven_and_nothing_of_it_is_made_again(old: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(old.root)]) == 0
    assert "0 findings" in capsys.readouterr().out
    tables = [old.store.read(here.table) for here in (V0, STREAM)]
    old.convert()
    old.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    assert [old.store.read(here.table) for here in (V0, STREAM)] == tables


def test_an_index_does_not_change_a_fingerprint(new: Mill, old: Mill) -> None:
    before = old.convert()
    made = old.make(old.conversion(), force=True)
    assert old.ground == ["a", "b", "c"]
    assert made.fingerprint == before.fingerprint
    assert made.table != before.table
    assert made == new.convert()


def test_blocklists_find_their_shards_by_old_and_new_indexes(new: Mill, old: Mill) -> None:
    for mill in (new, old):
        blocked = hashes_by_name([read_blocklist(mill.store, "takedowns")])
        assert shards_touched_by_blocklists(mill.store, STREAM, V1, blocked) == []
    put_list(old.store, b'{"source":"pages","id":"doc-60","reason":"another"}\n')
    blocked = hashes_by_name([read_blocklist(old.store, "takedowns")])
    assert shards_touched_by_blocklists(old.store, STREAM, V1, blocked) == ["b", "c"]


def test_ids_are_compared_across_snapshots_by_old_and_new_indexes(old: Mill) -> None:
    assert check_ids_across_snapshots(old.store, V0.asset, [SNAPSHOT]).passed
    old.raw("d.jsonl", b'{"id":"doc-3","text":"once more","source":"pages"}\n', snapshot="2025")
    old.convert(snapshot="2025")
    verdict = check_ids_across_snapshots(old.store, V0.asset, [SNAPSHOT, "2025"])
    assert not verdict.passed
    assert "doc-3" in verdict.description
    assert [each.snapshot for each in trace_document(old.store, "pages", "doc-3", KNOWN)] == ["2024", "2025"]


def test_row_numbers_that_are_wrong_are_found_by_verify(new: Mill, tmp_path: Path) -> None:
    link(new.root, tmp_path / "lake")
    mill = Mill(tmp_path / "lake")
    rows = mill.table(V1)["a"].rows
    index = bytearray(mill.store.read(V1.index("a")))
    index[16 * rows : 16 * rows + 8] = index[16 * rows + 4 : 16 * rows + 8] + index[16 * rows : 16 * rows + 4]
    mill.store.put(V1.index("a"), bytes(index))
    reseal_shard(mill, V1, "a", index=hashlib.sha256(index).hexdigest())
    assert main(["verify", str(mill.root), "--asset", "sources/pages/v1/documents"]) == 1
    with pytest.raises(StoreError, match="is not the row that the shard's index names"):
        [where(mill, number) for number in range(0, 30, 2)]
