from gristmill.execution.finding import Finding, difference_in_words


def test_a_finding_names_its_row_where_it_has_one() -> None:
    assert str(Finding("a.gz", 0, "its id is 'x'", "make it again")) == "a.gz: row 0: its id is 'x' (make it again)"
    assert str(Finding("a.gz", None, "it is gone", "make it again")) == "a.gz: it is gone (make it again)"


def test_a_comparison_shows_numbers_in_thousands_and_cuts_long_texts() -> None:
    assert difference_in_words("its rows are", 1234567, 12) == "its rows are 1,234,567, but its ledger says 12"
    found = difference_in_words("it is", "x" * 500, "short")
    assert found == f"it is {'x' * 117}..., but its ledger says short"


def test_the_words_of_a_finding_name_its_object_once() -> None:
    path = "blocklists/evals.jsonl"
    assert str(Finding(path, None, f"{path}: row 0: cut off", "restore it")) == f"{path}: row 0: cut off (restore it)"
