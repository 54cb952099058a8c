"""JqProgram: a jq expression, run by the library jq, as Dolma's mixer uses jaq.

jaq stops where jq goes on: at a field of null, for instance. Such a configuration fails there and runs here. What jaq
does in silence otherwise is refused, or done here too: see docs/how-to/dolma-mix.md.
"""

import re
from typing import Any

import jq  # type: ignore[import-not-found]

from gristmill.errors import RecipeError
from gristmill.formats.dolma.jq_fields import fields_of_jq

_IMPURE = re.compile(
    r"(?<![.\w$\"])(now|env|input|inputs|input_filename|input_line_number|localtime|mktime|strflocaltime|debug|stderr"
    r"|halt|halt_error|import|include|getpath/0|\$ENV|get_search_list|modulemeta|\$__loc__)(?!\w)|\$ENV"
)
_SCAN = re.compile(r"(?<![.\w$])scan(?!\w)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


class JqProgram:
    """An expression.

    Args:
        text: of the expression.

    Attributes:
        fields: of a row that it reads; None for all.

    Raises:
        RecipeError: jq does not read it, it depends on more than the row, or Dolma's engine does something else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        code = _STRINGS.sub('""', text)
        if impure := _IMPURE.search(code):
            raise RecipeError(f"jq {text!r}: {impure[0]} depends on more than the row; leave it out")
        if _SCAN.search(code):
            raise RecipeError(f'jq {text!r}: Dolma\'s engine finds only the first match of scan; write match(...; "g")')
        self.fields = fields_of_jq(text)
        try:
            self._program = jq.compile(text)
        except ValueError as error:
            raise RecipeError(f"jq {text!r}: {str(error).splitlines()[0]}") from error

    def values(self, row: str) -> list[Any]:
        """What the expression gives for a row.

        Args:
            row: JSON.

        Raises:
            ValueError: the expression fails on it.
        """
        return list(self._program.input_text(row).all())

    def matches(self, row: str) -> bool:
        """Whether it gives anything, and only what counts as true: not false, null, 0, or empty.

        Raises:
            ValueError: the expression fails on the row, or gives the bare number 0, of which Dolma's mixer takes 0 for
                false and 0.0 of a row for true.
        """
        values = self.values(row)
        if any(type(value) in {int, float} and value == 0 for value in values):
            raise ValueError(f"jq {self.text!r} gives 0; compare it, such as ({self.text}) > 0")
        return bool(values) and all(values)

    def any_true(self, row: str) -> bool:
        """Whether it gives anything that counts as true.

        Raises:
            ValueError: see matches().
        """
        values = self.values(row)
        if any(type(value) in {int, float} and value == 0 for value in values):
            raise ValueError(f"jq {self.text!r} gives 0; compare it, such as ({self.text}) > 0")
        return any(values)
