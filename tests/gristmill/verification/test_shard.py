import hashlib

import pytest
import xxhash
from lies import A, B, Lie, check_found
from testkit import Mill
from wholelake import DOCUMENTS, WORDS, flip, reseal_shard, table

from gristmill.lake.address import Place
from gristmill.lake.rows.shard_file import ShardWriter, gzip_bytes, read_blocks, split_rows
from gristmill.verification.audit import audit_ledger


def cut_in_a_row(mill: Mill, row: int) -> None:
    """The same rows in two gzip members, of which the first ends in the middle of row 0; the table says it is `row`."""
    rows = b"".join(row + b"\n" for row in mill.lines(A))
    packed = [gzip_bytes(rows[:100]), gzip_bytes(rows[100:])]
    data = b"".join(packed)
    mill.store.put(A, data)
    members = ((0, 0), (len(packed[0]), row))
    reseal_shard(mill, DOCUMENTS, "a", members=members, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def without_an_end(mill: Mill) -> None:
    """The same rows without the last line feed; all digests are made to fit."""
    rows = b"\n".join(mill.lines(A))
    data = gzip_bytes(rows)
    mill.store.put(A, data)
    sha256, content = hashlib.sha256(data).hexdigest(), xxhash.xxh3_128_hexdigest(rows)
    told = {"rows": 19, "bytes": len(data), "length": len(rows), "sha256": sha256, "content": content}
    reseal_shard(mill, DOCUMENTS, "a", **told, members=((0, 0),))


def flip_in_a_row(mill: Mill, row: int) -> None:
    """One bit of one row, in the plain bytes: what a bit of packed bytes changes depends on who packed them."""
    rows = [bytearray(line) for line in mill.lines(A)]
    rows[row][0] ^= 1
    mill.store.put(A, gzip_bytes(b"".join(bytes(line) + b"\n" for line in rows)))


LIES: dict[str, Lie] = {
    "a last row that does not end": (without_an_end, A, 0, "the last row does not end with a line feed"),
    "a bit flipped in a shard": (lambda m: flip(m, A), A, None, "its sha256 is"),
    "a bit flipped in a row": (lambda m: flip_in_a_row(m, 18), A, 18, "is not a document"),
    "a member that ends in a row": (
        lambda m: cut_in_a_row(m, 1),
        A,
        None,
        "its gzip member 1 begins at byte 100 with row 0",
    ),
    "a member that ends in a row, as the table says": (
        lambda m: cut_in_a_row(m, 0),
        A,
        0,
        "the gzip member at byte 100 begins inside this row",
    ),
    "a bit flipped in a gzip header": (lambda m: flip(m, A, 4), A, None, "its sha256 is"),
    "a shard cut": (lambda m: m.store.put(A, m.store.read(A)[:-9]), A, None, "the object's bytes are"),
    "rows cut": (lambda m: m.store.put(A, m.store.read(A)[:-9]), A, 0, "it was truncated"),
    "a shard that is gone": (lambda m: m.store.delete([A]), A, None, "no such object"),
    "rows counted wrong": (lambda m: reseal_shard(m, DOCUMENTS, "a", rows=21), A, None, "its rows are 20"),
    "a length counted wrong": (lambda m: reseal_shard(m, DOCUMENTS, "a", length=7), A, None, "its rows' bytes are"),
    "another content digest": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", content="0"),
        A,
        None,
        "its content digest is",
    ),
    "a member that begins elsewhere": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", members=((0, 0), (100, 9))),
        A,
        None,
        "its gzip member 1 does not exist, but its ledger says begins at byte 100 with row 9",
    ),
    "members out of order": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", members=((5, 0), (3, 9))),
        A,
        None,
        "its gzip member 0 begins at byte 0 with row 0, but its ledger says begins at byte 5 with row 0",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])


@pytest.fixture
def many(whole: Mill) -> Mill:
    """Ten documents in a shard `b` of four gzip members, which begin with the rows 0, 3, 6 and 9."""
    whole.raw("b.jsonl.gz", [{"id": f"big-{n}", "text": "word " * 100_000, "source": "pages"} for n in range(10)])
    whole.convert()
    whole.tag("words-1", "characters-1")
    (_, b) = table(whole, DOCUMENTS)
    assert [row for _, row in b.members] == [0, 3, 6, 9]
    assert audit_ledger(whole.store, DOCUMENTS.ledger, print) == []
    return whole


def test_a_flip_names_the_first_row_of_its_gzip_member(many: Mill) -> None:
    flip(many, B, table(many, DOCUMENTS)[1].members[2][0] + 60)
    damage, *others = (f for f in audit_ledger(many.store, DOCUMENTS.ledger, print) if f.path == B)
    assert (damage.row, "not valid gzip" in damage.what) == (6, True)
    assert [f.row for f in others] == [None] * len(others)
    assert others[0].what.startswith("its sha256 is")


@pytest.mark.parametrize(("cut", "partition"), [(4, DOCUMENTS), (9, DOCUMENTS), (0, WORDS), (7, WORDS)])
def test_a_row_that_is_gone_from_a_shard_of_many_members_is_named(many: Mill, cut: int, partition: Place) -> None:
    path = partition.shard("b")
    rows = [row for block in read_blocks(many.store, path) for row in split_rows(block)]
    writer = ShardWriter(many.store, path)
    writer.write(b"".join(row + b"\n" for n, row in enumerate(rows) if n != cut))
    writer.close()
    first, *others = audit_ledger(many.store, partition.ledger, print)
    assert (first.path, first.row) == (path, cut)
    assert "the object's bytes are" in "".join(f.what for f in others)
    assert "truncated" not in "".join(f.what for f in (first, *others))


def test_a_member_that_begins_with_another_row_than_its_ledger_says_is_named(many: Mill) -> None:
    (_, b) = table(many, DOCUMENTS)
    reseal_shard(many, DOCUMENTS, "b", members=(b.members[0], (b.members[1][0], 4), *b.members[2:]))
    found = audit_ledger(many.store, DOCUMENTS.ledger, print)
    begins = f"begins at byte {b.members[1][0]} with row"
    assert [each.what for each in found] == [f"its gzip member 1 {begins} 3, but its ledger says {begins} 4"]
