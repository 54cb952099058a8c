from labelrows import write_labels
from testkit import Mill
from wholelake import WORDS, table

from gristmill.scores import described
from gristmill.scores.described import describe_set

KINDS = {"count": "score", "first": "spans", "silent": "score"}


def test_only_shards_that_changed_are_read_again(whole: Mill) -> None:
    first = describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    assert (first.rows, first.read) == (40, 2)
    count = next(label for label in first.labels if label.name == "count")
    assert (count.rows, count.least, count.most, count.sketch.quantile(0.5)) == (40, 1.0, 5.0, 3.0)
    assert [(each.shard, each.row) for each in count.highest] == [("a", 4), ("a", 9), ("a", 14), ("a", 19), ("b", 4)]
    again = describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    assert (again.read, again.labels) == (0, first.labels)
    write_labels(whole, WORDS, "b", [{"words-1__count": 9.0}] * 20, first=20)
    changed = describe_set(whole.store, WORDS, table(whole, WORDS), KINDS)
    assert changed.read == 1
    assert next(label for label in changed.labels if label.name == "count").most == 9.0


def test_of_many_labels_the_frequent_ones_are_shown(whole: Mill) -> None:
    labels = [{f"words-1__w{n:02}": 1.0 for n in range(30 - row)} for row in range(20)]
    write_labels(whole, WORDS, "a", labels)
    write_labels(whole, WORDS, "b", [{}] * 20, first=20)
    found = describe_set(whole.store, WORDS, table(whole, WORDS), None)
    assert len(found.labels) == 30
    assert [label.name for label in found.shown_labels] == [f"w{n:02}" for n in range(described.MOST_SHOWN)]
