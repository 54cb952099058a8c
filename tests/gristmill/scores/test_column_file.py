from labelrows import write_labels
from testkit import Mill
from wholelake import WORDS

from gristmill.lake.ledger.derived import columns_path
from gristmill.scores.column_file import open_columns
from gristmill.scores.label_columns import make_columns


def test_columns_of_another_content_or_of_no_form_count_as_absent(whole: Mill) -> None:
    shard = whole.table(WORDS)["a"]
    assert open_columns(whole.store, WORDS, shard) is None
    head = make_columns(whole.store, WORDS, shard, {"count": "score"})
    found = open_columns(whole.store, WORDS, shard)
    assert found
    assert found.head == head
    assert found.table(["words-1__count"]).to_pydict() == {"words-1__count": [float(n % 5 + 1) for n in range(20)]}
    changed = write_labels(whole, WORDS, "a", [{"words-1__count": 1.0}] * 20)
    assert open_columns(whole.store, WORDS, changed) is None
    good = whole.store.read(columns_path(WORDS, "a"))
    for wrong in (b"", b"PAR1", good[: len(good) // 2], good[:-9] + b"x" * 9):
        whole.store.put(columns_path(WORDS, "a"), wrong)
        assert open_columns(whole.store, WORDS, shard) is None
