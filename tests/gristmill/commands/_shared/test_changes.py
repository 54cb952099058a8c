from gristmill.commands._shared.changes import change_lines
from gristmill.text.differences import first_differences


def test_each_change_is_two_lines_and_long_ones_are_shortened() -> None:
    found = first_differences("a\n" + "x" * 1000 + "\nb\nc", "a\ny\nb\nd")
    lines = list(change_lines(found))
    assert [line[:2] for line in lines] == ["- ", "+ ", "- ", "+ "]
    assert (lines[1:], len(lines[0]) < 120) == (["+ y", "- c", "+ d"], True)
