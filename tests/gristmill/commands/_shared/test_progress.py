from io import StringIO

from gristmill.commands._shared.progress import Progress
from gristmill.execution.work import ProgressLine


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def said(out: StringIO) -> str:
    progress = Progress(out)
    for line in (ProgressLine("1 of 2"), ProgressLine("2 of 2"), "made it", "and more", ProgressLine("1 of 9")):
        progress(line)
    progress.end()
    progress.end()
    return out.getvalue()


def test_in_a_pipe_each_line_is_its_own() -> None:
    assert said(StringIO()) == "1 of 2\n2 of 2\nmade it\nand more\n1 of 9\n"


def test_on_a_terminal_a_line_of_progress_is_rewritten_and_goes_before_others() -> None:
    gone = "\r\x1b[K"
    assert said(Terminal()) == f"\r1 of 2\x1b[K\r2 of 2\x1b[K{gone}made it\nand more\n\r1 of 9\x1b[K{gone}"
