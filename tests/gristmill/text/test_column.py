from gristmill.text.column import text_columns


def test_a_column_keeps_the_places_of_its_texts_and_computes_words_and_lines_once() -> None:
    ascii_only, others = text_columns(["to be", "müssen", "or not\nto be"])
    assert ascii_only.places == [0, 2]
    assert others.places == [1]
    assert ascii_only.words.counts.tolist() == [2, 4]
    assert ascii_only.lines.counts.tolist() == [1, 2]
    assert ascii_only.words is ascii_only.words
    assert ascii_only.lines is ascii_only.lines


def test_a_text_longer_than_the_limit_has_a_column_for_itself() -> None:
    assert [column.places for column in text_columns(["a" * 9, "b", "c"], limit=8)] == [[0], [1, 2]]
