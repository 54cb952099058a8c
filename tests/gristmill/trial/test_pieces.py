import pytest
from testkit import Mill

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.draw import draw_fraction
from gristmill.trial import pieces
from gristmill.trial.pieces import draw_documents

V0 = "sources/pages/v0/documents"


def test_the_rows_of_smallest_hash_are_drawn_in_the_order_of_the_lake(whole: Mill) -> None:
    sample = draw_documents(whole.store, V0, None, 5)
    hashes = sorted((draw_fraction(("pages", f"doc-{n:05d}")), n) for n in range(40))
    assert [int(drawn.document.id[4:]) for drawn in sample.rows] == sorted(n for _, n in hashes[:5])
    assert [(drawn.shard, drawn.row) for drawn in sample.rows] == [
        ("a" if n < 20 else "b", n % 20) for n in sorted(n for _, n in hashes[:5])
    ]
    assert (sample.snapshot, sample.pieces, sample.of, sample.looked) == ("2024", 2, 2, 40)
    assert len(draw_documents(whole.store, V0, None, 200).rows) == 40


def test_a_large_snapshot_is_read_in_some_of_its_pieces_only(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECES", 1)
    sample = draw_documents(whole.store, V0, "2024", 200)
    assert (sample.pieces, sample.of, sample.looked) == (1, 2, 20)
    assert len({drawn.shard for drawn in sample.rows}) == 1
    assert draw_documents(whole.store, V0, "2024", 200) == sample


def test_what_is_not_there_is_told(whole: Mill) -> None:
    with pytest.raises(RecipeError, match="there is no sources/page/v0/documents; did you mean 'sources/pages/v0/doc"):
        draw_documents(whole.store, "sources/page/v0/documents", None, 5)
    with pytest.raises(RecipeError, match=r"there is no snapshot '2025'; .*known: 2024"):
        draw_documents(whole.store, V0, "2025", 5)
    whole.store.delete(["sources/pages/v0/ledgers/documents/2024.json"])
    with pytest.raises(DataError, match="has no finished snapshot"):
        draw_documents(whole.store, V0, None, 5)
