from gristmill.raw_data.endings import count_ending, unselected_in_words


def test_the_three_most_frequent_endings_are_named() -> None:
    endings: dict[str, int] = {}
    for name in ("a.rst", "sub/b.rst", "c.txt", "README", "d.md", "e.md", "e.md"):
        count_ending(endings, name)
    assert endings == {".rst": 2, ".txt": 1, "": 1, ".md": 3}
    assert unselected_in_words(endings) == "7 files that select does not match (.md: 3, .rst: 2, others: 1, ...)"
    assert unselected_in_words({".md": 1}) == "1 file that select does not match (.md: 1)"


def test_no_more_than_20_endings_are_told_apart() -> None:
    endings: dict[str, int] = {}
    for number in range(1_000):
        count_ending(endings, f"a.{number}")
    assert len(endings) == 21
    assert endings[""] == 980
