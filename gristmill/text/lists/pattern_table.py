"""PatternTable: regular expressions that a team brings, one a line, run by RE2 in time linear in the text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import re2

from gristmill.errors import RecipeError
from gristmill.text.huge.blocks import blocks
from gristmill.text.huge.windows import HUGE
from gristmill.text.lists.word_lines import ListedWord

MOST_PATTERNS = 10_000
_ONE = 1 << 20
_ALL = 64 << 20
"""Bytes of memory that RE2 may take for one pattern, and for all."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class PatternTable:
    """Patterns in one program.

    Args:
        program: compiled program that finds any of the patterns.

    >>> table = PatternTable.of([ListedWord(r"v[i1]agr[a@]", "en", "en:1")])
    >>> list(table.find_pattern_hits("Cheap V1AGRA!"))
    [(6, 12)]
    """

    program: Any

    @classmethod
    def of(cls, listed: Iterable[ListedWord]) -> "PatternTable":
        """The table of patterns in RE2's syntax; case does not count.

        Raises:
            RecipeError: a line is no pattern of RE2, needs too much memory, or matches the empty text; or there are
                none or too many.
        """
        patterns: dict[str, None] = {}
        for line in listed:
            try:
                program = re2.compile(line.text, _re2_options(_ONE))
            except re2.error as error:
                reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else error
                raise RecipeError(
                    f"{line.where}: {line.text[:80]!r} is no pattern that RE2 takes ({reason}); look-around and back "
                    "references are not, nor are patterns that need more than 1 MB"
                ) from error
            if program.search(""):
                raise RecipeError(f"{line.where}: {line.text[:80]!r} matches the empty text; make it find something")
            patterns[line.text] = None
            if len(patterns) > MOST_PATTERNS:
                raise RecipeError(f"{line.where}: a list may have {MOST_PATTERNS:,} patterns; divide it")
        if not patterns:
            raise RecipeError("the list has no patterns; bring one with a pattern a line")
        try:
            return cls(re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), _re2_options(_ALL)))
        except re2.error as error:
            raise RecipeError(f"{len(patterns)} patterns together need more than 64 MB; divide the list") from error

    def find_pattern_hits(self, text: str, size: int = HUGE) -> Iterator[tuple[int, int]]:
        """All hits from left to right, which do not overlap: their offsets in code points. Empty hits are left out.

        Args:
            text: any text.
            size: code points that are searched together; see `gristmill.text.huge.blocks`. No hit is in two blocks.
        """
        for first, last in blocks(text, size=size):
            block = text[first:last]
            if not block.isascii():
                block = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", block)
            for found in self.program.finditer(block):
                start, end = found.span()
                if start < end:
                    yield first + start, first + end


def _re2_options(memory: int) -> Any:
    options = re2.Options()
    options.max_mem = memory
    options.case_sensitive = False
    options.log_errors = False
    return options
