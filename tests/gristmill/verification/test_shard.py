import pytest
from lies import A, B, Lie, check_found
from testkit import Mill
from wholelake import DOCUMENTS, flip, reseal_shard, table

from gristmill.verification.audit import audit_ledger

LIES: dict[str, Lie] = {
    "a bit flipped in a shard": (lambda m: flip(m, A), A, 0, "its sha256 is"),
    "a bit flipped in a gzip header": (lambda m: flip(m, A, 4), A, None, "its sha256 is"),
    "a shard cut": (lambda m: m.store.put(A, m.store.read(A)[:-9]), A, 0, "the object's bytes are"),
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
        0,
        "truncated",
    ),
    "members out of order": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", members=((5, 0), (3, 9))),
        A,
        None,
        "the members' offsets",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])


def test_rows_of_many_members_are_proven_and_a_flip_names_the_row_it_stands_behind(whole: Mill) -> None:
    rows = [{"id": f"big-{n}", "text": "word " * 100_000, "source": "pages"} for n in range(10)]
    whole.raw("b.jsonl.gz", rows)
    whole.convert()
    (_, b) = table(whole, DOCUMENTS)
    assert [row for _, row in b.members] == [0, 3, 6, 9]
    assert audit_ledger(whole.store, DOCUMENTS.ledger, print) == []
    flip(whole, B, b.members[2][0] + 60)
    found = audit_ledger(whole.store, DOCUMENTS.ledger, print)
    assert found[0].row == 6
    assert str(found[0]).startswith(f"{B}: row 6: its sha256 is")
