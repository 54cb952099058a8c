from gristmill.drift.levels import snapshot_levels


def test_a_share_is_of_the_rows_that_were_read() -> None:
    levels = snapshot_levels("2024", {"shards": 1, "rows": 6, "bytes": 90, "length": 200}, {"too-short": 3, "table": 1})
    assert levels.sizes == {"rows": 6, "bytes": 90}  # ten rows were read
    assert levels.shares == {"rows dropped": 0.4, "rows dropped: too-short": 0.3, "rows dropped: table": 0.1}


def test_tokens_are_a_size_where_they_are_counted() -> None:
    assert snapshot_levels("2024", {"rows": 6, "bytes": 90, "tokens": 40}, {}).sizes == {
        "rows": 6,
        "bytes": 90,
        "tokens": 40,
    }


def test_what_edits_remove_is_a_share_of_the_changed_texts() -> None:
    totals = {
        "rows": 2,
        "edits: characters before": 100,
        "edits: characters after": 25,
        "transform long-1: characters before": 10,
        "transform long-1: characters after": 12,
    }
    assert snapshot_levels("2024", totals, {}).shares == {
        "characters removed: edits": 0.75,
        "characters removed: transform long-1": 0.0,
    }


def test_duplicates_are_a_share_only_if_they_are_documents() -> None:
    totals = {"rows": 8, "duplicates": 2}
    assert snapshot_levels("2024", totals, {}, marked=True).shares == {"duplicates": 0.25}
    assert snapshot_levels("2024", totals, {}).shares == {}


def test_nothing_is_no_share() -> None:
    assert snapshot_levels("2024", {"rows": 0, "bytes": 0}, {}, marked=True).shares == {}
    assert snapshot_levels("2024", {"rows": 0, "bytes": 0}, {"a": 4}).shares == {
        "rows dropped": 1.0,
        "rows dropped: a": 1.0,
    }
