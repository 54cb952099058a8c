from testkit import Mill
from wholelake import DOCUMENTS

from gristmill.reading.lake_contents import LakeContents, ListedPartition, lake_contents


def listed(asset: str, size: int, *, finished: bool = True) -> ListedPartition:
    return ListedPartition(asset, "2024", finished, 1, 1000, size, 0)


def test_sizes_are_told_in_units_and_what_is_not_finished_is_told() -> None:
    sizes = (999, 12_345, 34_500_000, 7_000_000_000, 8_000_000_000_000)
    contents = LakeContents(listed("a/b", size) for size in sizes)
    assert [line.split("1,000")[1].strip() for line in repr(contents).splitlines()[1:]] == [
        "999 bytes", "12.3 kB", "34.5 MB", "7.0 GB", "8.0 TB",
    ]  # fmt: skip
    unfinished = LakeContents([listed("a/<b>", 0, finished=False)])
    assert repr(unfinished).splitlines()[1].split() == ["a/<b>", "2024", "not", "finished"]
    assert "<td>a/&lt;b&gt;</td><td>2024</td><td></td><td>not finished</td>" in unfinished._repr_html_()


def test_partitions_are_listed_in_the_order_in_which_they_are_made(read_mill: Mill) -> None:
    read_mill.store.delete([DOCUMENTS.ledger])
    listed = [(each.asset, each.snapshot, each.finished, each.rows) for each in lake_contents(read_mill.store)]
    assert listed == [
        ("sources/pages/v0/documents", "2024", False, 0),
        ("sources/pages/v0/documents", "2025", True, 10),
        ("sources/pages/v0/attributes/characters-1", "2024", True, 40),
        ("sources/pages/v0/attributes/words-1", "2024", True, 40),
        ("sources/pages/v0/attributes/words-1", "2025", True, 10),
        ("sources/pages/v1/documents", "2024", True, 16),
        ("sources/pages/v1/attributes/words-1", "2024", True, 16),
        ("mixes/even/documents/pages", "2024", True, 8),
        ("token_caches/even/tiny-1/pages", "2024", True, 8),
    ]
    assert [each.tokens for each in lake_contents(read_mill.store, "token_caches/")] == [44]
    assert lake_contents(read_mill.store, "sources/page") == ()
