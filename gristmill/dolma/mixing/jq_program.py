"""JqProgram: a jq expression, run by the library jq, as Dolma's mixer uses jaq.

jaq stops where jq goes on: at a field of null, for instance. Such a configuration fails there and runs here. What jaq
does in silence otherwise is refused, or done here too: see docs/how-to/dolma-mix.md.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gristmill.dolma.formats.jq_fields import fields_of_jq
from gristmill.dolma.formats.jq_tree import names_of_jq
from gristmill.dolma.mixing.jq_process import LIMITS, check_by_process, values_by_process
from gristmill.errors import RecipeError
from gristmill.recipes.sql.worker import ProcessLimits

_PURE = """
IN INDEX JOIN abs acos acosh add all any arrays ascii_downcase ascii_upcase asin asinh atan atan2 atanh booleans
bsearch capture ceil combinations contains copysign cos cosh del delpaths drem empty endswith erf erfc error exp
exp10 exp2 explode expm1 fabs false fdim finites first flatten floor fma fmax fmin fmod format frexp from_entries
fromdate fromdateiso8601 fromjson fromstream gamma getpath gmtime group_by gsub has hypot implode in index indices
infinite inside isempty isfinite isinfinite isnan isnormal iterables j0 j1 jn join keys keys_unsorted last ldexp length
lgamma lgamma_r limit log log10 log1p log2 logb ltrim ltrimstr map map_values match max max_by min min_by modf
nearbyint nextafter nexttoward normals not nth null nulls numbers objects path paths pick pow range recurse remainder
repeat reverse rindex rint round rtrim rtrimstr scalars scalb scalbln select setpath significand sin sinh skip sort
sort_by split splits sqrt startswith strftime strings strptime sub tan tanh test tgamma to_entries toboolean todate
todateiso8601 tojson tonumber tostream tostring transpose trim trimstr true trunc truncate_stream type unique unique_by
until utf8bytelength values walk while with_entries y0 y1 yn
"""
"""The functions whose results follow from their inputs alone. All others are refused."""
_IMPURE = """
builtins debug env get_jq_origin get_prog_origin get_search_list halt halt_error have_decnum have_literal_numbers
import include input input_filename input_line_number inputs localtime mktime module modulemeta now stderr
strflocaltime $ENV $__loc__ $__prog_args $__prog_name
"""
KNOWN, REFUSED = frozenset(_PURE.split()), frozenset(_IMPURE.split())
_OTHERWISE = {
    "cbrt": "gives another last digit for cbrt; leave it out",
    "nan": "takes nan for equal to nan; leave it out",
    "scan": 'finds only the first match of scan; write match(...; "g")',
}
"""Functions for which that engine gives something else, and what."""
_LABEL = re.compile(r"(?<!\w)\.attributes\??\.(\w+)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')


class JqProgram:
    """An expression.

    Args:
        text: text of the expression.
        limits: limits for one row.

    Attributes:
        fields: names of the fields of a row that it reads; None for all.
        labels: names of labels that it names, as in `.attributes.words`.

    Raises:
        RecipeError: jq does not read it, it depends on more than the row, or Dolma's engine does something else.
    """

    def __init__(self, text: str, limits: ProcessLimits = LIMITS) -> None:
        self.text, self._limits = text, limits
        _check_names(text)
        self.fields = fields_of_jq(text)
        self.labels = frozenset(_LABEL.findall(_STRINGS.sub('""', text)))
        try:
            check_by_process(text, limits)
        except ValueError as error:
            raise RecipeError(f"jq {text!r}: {str(error).splitlines()[0]}") from error

    def values(self, rows: Iterable[str]) -> Iterator[list[Any]]:
        """The values that the expression gives for each row.

        It runs in a process with limits.

        Args:
            rows: JSON without line feeds.

        Raises:
            ValueError: the expression fails on the next row, or passes its limits there; or the next row cannot be had.
        """
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
        """Whether the expression gives anything for a row, and only what counts as true; one answer for each row.

        False, null, 0 and what is empty do not.

        Raises:
            ValueError: the expression fails on the next row, or gives the bare number 0, of which Dolma's mixer takes 0
                for false and 0.0 of a row for true.
        """
        return (bool(values) and all(values) for values in self._compared_values(rows))

    def any_true(self, rows: Iterable[str]) -> Iterator[bool]:
        """Whether the expression gives anything that counts as true; one answer for each row.

        Raises:
            ValueError: see matches().
        """
        return (any(values) for values in self._compared_values(rows))

    def _compared_values(self, rows: Iterable[str]) -> Iterator[list[Any]]:
        for values in self.values(rows):
            if any(type(value) in {int, float} and value == 0 for value in values):
                raise ValueError(f"jq {self.text!r} gives 0; compare it, such as ({self.text}) > 0")
            yield values


def _check_names(text: str) -> None:
    names = names_of_jq(text)
    named = names.called | names.defined | names.variables
    if impure := sorted(named & REFUSED):
        raise RecipeError(f"jq {text!r}: {impure[0]} depends on more than the row; leave it out")
    if other := sorted(named & _OTHERWISE.keys()):
        raise RecipeError(f"jq {text!r}: Dolma's engine {_OTHERWISE[other[0]]}")
    if unknown := sorted(names.called - names.defined - KNOWN):
        raise RecipeError(f"jq {text!r}: {unknown[0]} is not a function that is known here; leave it out")
