from dataclasses import dataclass
from pathlib import Path

from testkit import Mill, make_documents

from gristmill.drift.history import COMPARED, LOOKED_AT, heads_before, maker_of_head, maker_of_shards, nearest_before
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.folder import FolderStore

V0 = "sources/pages/v0/documents"
YEARS = [str(year) for year in range(2001, 2009)]


@dataclass
class Counting:
    """A store that counts what is read of it."""

    store: FolderStore
    reads: int = 0

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        self.reads += 1
        return self.store.read_tagged(path)


def test_the_nearest_are_those_before_in_natural_order() -> None:
    assert nearest_before("3.11", ["3.9", "3.12", "3.10", "3.11"], "") == ["3.10", "3.9"]


def test_nothing_before_the_accepted_snapshot_is_compared_with_it_or_with_later_ones() -> None:
    assert nearest_before("2004", YEARS, "2003") == ["2003"]
    assert nearest_before("2003", YEARS, "2003") == []
    assert nearest_before("2002", YEARS, "2003") == ["2001"]  # the old level holds for the old ones


def test_of_ten_thousand_keys_a_few_are_looked_at() -> None:
    keys = [f"{number:05d}" for number in range(10_000)]
    nearest = nearest_before("09999", keys, "")
    assert (len(nearest), nearest[0], nearest[-1]) == (LOOKED_AT, "09998", "09979")


def test_at_most_five_partitions_are_read_and_others_than_alike_are_passed(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    for year in YEARS:
        mill.raw("a.jsonl.gz", make_documents(int(year) - 2000), snapshot=year)
        mill.convert(snapshot=year)
    head, shards = read_ledger(mill.store, place(V0, "2008"))
    maker = maker_of_shards(shards)
    assert maker == maker_of_head(head)
    store = Counting(mill.store)  # type: ignore[arg-type]  # a folder
    heads = heads_before(store, V0, nearest_before("2008", YEARS, ""), maker)  # type: ignore[arg-type]
    assert [each.snapshot for each in heads] == ["2003", "2004", "2005", "2006", "2007"]
    assert store.reads == COMPARED
    mill.store.put(place(V0, "2007").ledger, b"torn")
    mill.store.delete([place(V0, "2006").ledger])
    heads = heads_before(mill.store, V0, nearest_before("2008", YEARS, ""), maker)
    assert [each.snapshot for each in heads] == ["2001", "2002", "2003", "2004", "2005"]
    assert heads_before(mill.store, V0, nearest_before("2008", YEARS, ""), ("other", maker[1])) == []
