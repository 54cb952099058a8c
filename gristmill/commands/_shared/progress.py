"""Progress on a terminal: one line that is rewritten. In a pipe or a file: plain lines."""

import shutil
import sys
from typing import TextIO

from gristmill.errors import escape_controls
from gristmill.execution.work import ProgressLine


class Progress:
    """Takes lines, and shows them at once.

    Args:
        out: stream that shows the lines; by default the standard output.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._rewrites = self._out.isatty()
        self._open = False

    def __call__(self, line: str) -> None:
        if self._rewrites and isinstance(line, ProgressLine):
            width = shutil.get_terminal_size().columns - 1
            self._out.write(f"\r{escape_controls(line)[:width]}\x1b[K")
            self._open = True
        else:
            self.end()
            self._out.write(f"{escape_controls(line)}\n")
        self._out.flush()

    def end(self) -> None:
        """Removes the line that would be rewritten, so that others can follow."""
        if self._open:
            self._out.write("\r\x1b[K")
            self._out.flush()
        self._open = False
