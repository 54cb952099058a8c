"""Fields of format strings: those that could make too much, or any character, are refused; others are as Python's."""

import pytest

from gristmill.stages.chat_templates.budget import Budget, Unrendered
from gristmill.stages.chat_templates.formats import brace_format_size, percent_format_size

PERCENTS = (
    *("%c", "%lc", "%hc", "%Lc", "%5c", "%-5lc", "%05.3c", "%.c", "%%%c", "%d%c", "%% %lc", "% c", "%*c"),
    *("%(x)c", "%(x)lc", "%(x)-5lc", "%(a(b)x)c", "%(a(b)x)1000d", "%(\n)c", "%()c"),
    *("%1000d", "%0001000d", "%1000ld", "%.1000f", "%5.1000f", "%*d", "%.*f", "%(x)*d", "%-1000s"),
)
BRACES = (
    *("{:c}", "{0:c}", "{x:c}", "{:>5c}", "{0[}]:c}", "{0[{]:c}", "{0[:]:c}", "{!r:c}", "{{{:c}}}"),
    *("{:1000}", "{0[}]:1000}", "{:.1000f}", "{:{}}", "{:{x}}", "{:>{x}}", "{:\u0661\u0660\u0660\u0660}"),
)
FINE = {
    "%d%%": (7,),
    "%% %s": ("c",),
    "%-5s|%5.1f|%+d|%x": ("a", 2.5, 3, 255),
    "%(c)s%(a b)d": {"c": "c", "a b": 1},
    "%ld%hd": (1, 2),
    "%s is 100%% cool": ("it",),
    "%999s": ("a",),
    '{"c": %s, "d": {"e": %r}}': (1, "x"),
}


@pytest.mark.parametrize("form", PERCENTS)
def test_fields_of_percent_are_refused(form: str) -> None:
    with pytest.raises(Unrendered, match=r"^not bounded: a format string has a field"):
        percent_format_size(Budget(), form, (1,))


@pytest.mark.parametrize("form", BRACES)
def test_fields_of_braces_are_refused(form: str) -> None:
    with pytest.raises(Unrendered, match=r"^not bounded: a format string has a field"):
        brace_format_size(Budget(), form, (1,))


def test_other_fields_are_allowed_and_make_no_more_than_is_said() -> None:
    for form, values in FINE.items():
        given = values if isinstance(values, tuple) else (values,)
        assert percent_format_size(Budget(), form, given) >= len(form % values)
    for form in ("{} {0!r:>9}", "{x[c]:5}{{c}}", "{:,}", "c{}c", "{:%}"):
        assert brace_format_size(Budget(), form, (1,)) > len(form)
