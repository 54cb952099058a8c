"""JqProgram: a jq expression, run by the library jq, as Dolma's mixer uses jaq.

jaq stops where jq goes on: at a field of null, for instance. Such a configuration fails there and runs here. What jaq
does in silence otherwise is refused, or done here too: see docs/how-to/dolma-mix.md.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import jq  # type: ignore[import-not-found]

from gristmill.errors import RecipeError
from gristmill.formats.dolma.jq_bounds import is_bounded_jq
from gristmill.formats.dolma.jq_fields import fields_of_jq
from gristmill.stages.dolma_mixing.jq_process import LIMITS, JqLimits, values_by_process

_IMPURE = re.compile(
    r"(?<![.\w$\"])(now|env|input|inputs|input_filename|input_line_number|localtime|mktime|strflocaltime|debug|stderr"
    r"|halt|halt_error|import|include|getpath/0|\$ENV|get_search_list|modulemeta|\$__loc__)(?!\w)|\$ENV"
)
_SCAN = re.compile(r"(?<![.\w$])scan(?!\w)")
_LABEL = re.compile(r"(?<!\w)\.attributes\??\.(\w+)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


class JqProgram:
    """An expression.

    Args:
        text: of the expression.
        limits: for one row.

    Attributes:
        fields: of a row that it reads; None for all.
        labels: that it names, as in `.attributes.words`.

    Raises:
        RecipeError: jq does not read it, it depends on more than the row, or Dolma's engine does something else.
    """

    def __init__(self, text: str, limits: JqLimits = LIMITS) -> None:
        self.text, self._limits = text, limits
        code = _STRINGS.sub('""', text)
        if impure := _IMPURE.search(code):
            raise RecipeError(f"jq {text!r}: {impure[0]} depends on more than the row; leave it out")
        if _SCAN.search(code):
            raise RecipeError(f'jq {text!r}: Dolma\'s engine finds only the first match of scan; write match(...; "g")')
        self.fields = fields_of_jq(text)
        self.labels = frozenset(_LABEL.findall(code))
        self._bounded = is_bounded_jq(text)
        try:
            self._program = jq.compile(text)
        except ValueError as error:
            raise RecipeError(f"jq {text!r}: {str(error).splitlines()[0]}") from error

    def values(self, rows: Iterable[str]) -> Iterator[list[Any]]:
        """What the expression gives for each row.

        An expression that is certain to end soon runs in this process. Any other runs in a process with limits.

        Args:
            rows: JSON without line feeds.

        Raises:
            ValueError: the expression fails on the next row, or passes its limits there; or the next row cannot be had.
        """
        if self._bounded:
            for row in rows:
                yield list(self._program.input_text(row).all())
            return
        had, missing = list[str](), None
        try:
            for row in rows:
                had.append(row)
        except ValueError as error:
            missing = error
        yield from values_by_process(self.text, had, self._limits)
        if missing is not None:
            raise missing

    def matches(self, rows: Iterable[str]) -> Iterator[bool]:
        """For each row whether the expression gives anything, and only what counts as true.

        False, null, 0 and what is empty do not.

        Raises:
            ValueError: the expression fails on the next row, or gives the bare number 0, of which Dolma's mixer takes 0
                for false and 0.0 of a row for true.
        """
        return (bool(values) and all(values) for values in self._compared(rows))

    def any_true(self, rows: Iterable[str]) -> Iterator[bool]:
        """For each row whether the expression gives anything that counts as true.

        Raises:
            ValueError: see matches().
        """
        return (any(values) for values in self._compared(rows))

    def _compared(self, rows: Iterable[str]) -> Iterator[list[Any]]:
        for values in self.values(rows):
            if any(type(value) in {int, float} and value == 0 for value in values):
                raise ValueError(f"jq {self.text!r} gives 0; compare it, such as ({self.text}) > 0")
            yield values
