from assets.support.facts.totals import dropped_facts, totals_facts


def test_totals_are_told_in_words() -> None:
    totals = {"rows": 2, "bytes": 31_488_381, "shards": 7, "length": 5, "tokens": 9, "absent: english": 1_258}
    totals |= {"null: english": 40, "edits: rows changed": 8, "rows changed": 6}
    totals |= {"edits: characters before": 90, "edits: characters after": 80}
    assert totals_facts(totals) == {
        "dagster/row_count": 2,
        "size": "31.5 MB",
        "bytes": 31_488_381,
        "tokens": 9,
        "rows that lack english": 1_258,
        "other rows without a value of english": 40,
        "edits: texts changed, also of rows dropped later": 8,
        "edits: characters before, of the texts changed": 90,
        "edits: characters after, of the texts changed": 80,
        "kept rows changed": 6,
    }


def test_what_a_ledger_does_not_count_is_none() -> None:
    assert totals_facts({}) == {"dagster/row_count": 0, "size": "0 bytes", "bytes": 0}


def test_rows_that_were_dropped_are_a_share_of_those_that_were_read() -> None:
    assert dropped_facts(2, {"short": 1, "sampled out": 3}) == {
        "rows read": 6,
        "rows dropped": 4,
        "rows dropped (%)": 66.67,
    }
    assert dropped_facts(0, {}) == {"rows read": 0, "rows dropped": 0, "rows dropped (%)": 0.0}


def test_what_a_dedupe_recipe_marks_is_named_after_its_unit() -> None:
    counts = {"duplicates": 2, "duplicate characters": 6}
    for unit, marked, characters in (
        ("key", "documents numbered 2 or more", "characters of documents numbered 2 or more"),
        ("document", "duplicate documents", "duplicate characters"),
        ("minhash", "duplicate documents", "duplicate characters"),
        ("line", "duplicate spans", "duplicate characters"),
    ):
        assert list(totals_facts(counts, unit))[3:] == [marked, characters]
