import msgspec
import pytest
from lies import SET, A, Lie, check_found, swap
from testkit import Mill, packed
from wholelake import DOCUMENTS, WORDS, reseal, reseal_shard, table

from gristmill.lake.rows.shard_file import ShardWriter


def seal_set(mill: Mill, rows: list[bytes]) -> None:
    """Writes a shard of the set anew, and its ledger with it; only the ids' digest stays as it was."""
    writer = ShardWriter(mill.store, SET)
    writer.write(b"".join(row + b"\n" for row in rows))
    new = msgspec.structs.asdict(writer.close())
    del new["version"]
    reseal_shard(mill, WORDS, "a", **{**new, "members": tuple(new["members"])})


LIES: dict[str, Lie] = {
    "an attribute row missing": (
        lambda m: m.store.put(SET, packed(m.lines(SET)[:-1])),
        SET,
        19,
        f"there is no such row, but {A} has id 'doc-00019'",
    ),
    "an attribute row too many": (
        lambda m: m.store.put(SET, packed([*m.lines(SET), m.lines(SET)[0]])),
        SET,
        20,
        "ends before it",
    ),
    "attribute rows swapped": (
        lambda m: m.store.put(SET, packed(swap(m.lines(SET), 4, 5))),
        SET,
        4,
        f"id 'doc-00005' (source 'pages'), but {A} has 'doc-00004'",
    ),
    "attribute rows swapped, ledger and all": (
        lambda m: seal_set(m, swap(m.lines(SET), 4, 5)),
        SET,
        4,
        "id 'doc-00005'",
    ),
    "a span outside of its text": (
        lambda m: seal_set(m, [m.lines(SET)[0].replace(b"[0,4,", b"[0,5,"), *m.lines(SET)[1:]]),
        SET,
        0,
        "a span [0, 5) in a text of 4 characters",
    ),
    "another source": (
        lambda m: seal_set(m, [m.lines(SET)[0].replace(b'"pages"', b'"books"'), *m.lines(SET)[1:]]),
        SET,
        0,
        f"id 'doc-00000' (source 'books'), but {A} has 'doc-00000' (source 'pages')",
    ),
    "another digest of ids": (
        lambda m: reseal_shard(m, WORDS, "a", ids="0"),
        SET,
        None,
        "its ids' digest is",
    ),
    "a shard that the documents have not": (
        lambda m: reseal(m, DOCUMENTS, table(m, DOCUMENTS)[:1]),
        WORDS.shard("b"),
        None,
        "sources/pages/v0/documents has no shard of this name",
    ),
    "a shard that the documents alone have": (
        lambda m: reseal(m, WORDS, table(m, WORDS)[:1]),
        WORDS.shard("b"),
        None,
        "its documents have a shard b, this set has not",
    ),
    "a shard of other ids than its documents": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", ids="0"),
        WORDS.table,
        None,
        "but its documents have 20 of ids 0",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])
