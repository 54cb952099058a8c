import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from testkit import Mill

from gristmill.errors import Superseded
from gristmill.execution.claim import check_claim, claimed_by, others_at_work
from gristmill.execution.runner import Inline, raise_failures
from gristmill.execution.step import assemble_one, grind, plan, publish_one
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.folder import FolderStore


def test_the_run_that_was_taken_over_stops_and_changes_nothing(mill: Mill) -> None:
    mill.raw_shards(3)
    older = plan(mill.conversion(), mill.lake, "older")
    newer = plan(mill.conversion(), mill.lake, "newer")
    tally = grind(older, Inline(), mill.said.append)
    assert [failed.error for failed in tally.failed] == ["Superseded"] * 3
    with pytest.raises(Superseded, match="a newer run has taken it over"):
        raise_failures(tally.failed, older.items)
    assert not grind(newer, Inline(), mill.said.append).failed
    asset = mill.documents().asset
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    assembled = assemble_one(mill.conversion(), newer, asset, {})
    publish_one(newer, asset, assembled)
    with pytest.raises(Superseded):
        assemble_one(mill.conversion(), older, asset, {})
    mill.verify(mill.documents())


def test_of_two_runs_that_publish_the_later_claim_wins(mill: Mill) -> None:
    mill.raw_shards(2)
    asset = mill.documents().asset
    older = plan(mill.conversion(), mill.lake, "older")
    grind(older, Inline(), mill.said.append)
    assembled = assemble_one(mill.conversion(), older, asset, {})
    newer = plan(mill.conversion(), mill.lake, "newer")
    assert newer.items == 0
    with pytest.raises(Superseded):
        publish_one(older, asset, assembled)
    assert mill.store.head(mill.documents().ledger) is None
    publish_one(newer, asset, assemble_one(mill.conversion(), newer, asset, {}))
    mill.verify(mill.documents())


def test_of_four_runs_at_once_one_makes_the_partition_and_three_change_nothing(mill: Mill) -> None:
    mill.raw_shards(6, rows=3)
    asset = mill.documents().asset
    claimed, ground = threading.Barrier(4), threading.Barrier(4)

    def run(number: int) -> str:
        planned = plan(mill.conversion(), mill.lake, f"thread-{number}")
        claimed.wait()  # all four have claimed the partition, one of them last
        tally = grind(planned, Inline(), mill.said.append)
        ground.wait()
        try:
            raise_failures(tally.failed, planned.items)
            publish_one(planned, asset, assemble_one(mill.conversion(), planned, asset, {}))
        except Superseded:
            return "superseded"
        return "done"

    with ThreadPoolExecutor(4) as pool:
        ends = sorted(pool.map(run, range(4)))
    assert ends == ["done", "superseded", "superseded", "superseded"]
    mill.verify(mill.documents())
    assert read_ledger(mill.store, mill.documents())[0].totals["rows"] == 18


@pytest.mark.parametrize(
    ("data", "token"),
    [
        (None, None),
        (b'{"token":"mine"}', "mine"),
        (b"{}", None),
        (b"", None),
        (b'{"tok', None),
        (b'{"token":"\xff"}', None),
    ],
)
def test_a_claim_that_is_torn_or_gone_is_nobodys(lake: FolderStore, data: bytes | None, token: str | None) -> None:
    here = place(documents_asset("wiki", "v0"), "2024")
    if data is not None:
        lake.put(here.claim, data)
    assert claimed_by(lake, here) == token
    if token == "mine":
        check_claim(lake, here, "mine")
    with pytest.raises(Superseded, match=r"sources/wiki/v0/documents \(2024\): a newer run has taken it over"):
        check_claim(lake, here, "older")


def test_a_claim_on_what_is_made_from_a_partition_counts_and_its_own_does_not(lake: FolderStore) -> None:
    here = place(documents_asset("wiki", "v0"), "2024")
    lake.put(here.claim, b'{"token":"other"}')
    for elsewhere in (place(documents_asset("news", "v0"), "2024"), place(documents_asset("wiki", "v0"), "2025")):
        lake.put(elsewhere.claim, b'{"token":"other"}')
    assert not others_at_work(lake, here, "mine")
    reader = place(attributes_asset("wiki", "v0", "length-1"), "2024")
    lake.put(reader.claim, b'{"token":"mine"}')
    assert not others_at_work(lake, here, "mine")
    lake.put(reader.claim, b'{"token":"other"}')
    assert others_at_work(lake, here, "mine")
