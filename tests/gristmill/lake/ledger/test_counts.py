from gristmill.lake.ledger.counts import add_counts, sum_counts


def test_counters_are_added_in_place_under_a_prefix() -> None:
    total = {"absent: a": 1}
    add_counts(total, {"a": 2, "b": 3}, "absent: ")
    add_counts(total, {})
    assert total == {"absent: a": 3, "absent: b": 3}


def test_a_sum_has_its_names_sorted_and_changes_nothing_that_it_adds() -> None:
    parts = ({"b": 1}, {"a": 2, "b": 3})
    assert list(sum_counts(parts).items()) == [("a", 2), ("b", 4)]
    assert parts == ({"b": 1}, {"a": 2, "b": 3})
    assert sum_counts(()) == {}
