"""Which names a jq program has, wherever it hides them."""

import pytest

from gristmill.dolma.formats.jq_tree import names_of_jq
from gristmill.errors import RecipeError


@pytest.mark.parametrize(
    ("text", "called"),
    [
        (".now | .input.env", ""),
        ('."now" | .["now"] | "now"', ""),
        ("{now, input: 1, if: 2, end: 3, def: 4}", ""),
        ('{"a": 1, now}', ""),
        (". as {now: $now} | $now", ""),
        ("# now\n1", ""),
        ("@base64", ""),
        ("a, b | c and d", "a b c d"),
        ("{a: now}", "now"),
        ("{(now): 1}", "now"),
        ("{a: (1, now)}", "now"),
        ("{a: [1, now]}", "now"),
        ("{a: if b then 1, now else 2 end, c}", "b now"),
        ("if a then {end: 1, if} else b end, now", "a b now"),
        (".[now:]", "now"),
        (".[now]?", "now"),
        (r'"\(now)"', "now"),
        (r'"\\(now)"', ""),
        (r'"a\"\("b\(c("\(now)"))")"', "c now"),
        (r'{"a\(now)": 1}', "now"),
        (r'@json "\(now)"', "now"),
        ("try error(now) catch now", "error now"),
        ("reduce .[] as $x (now; f($x; g))", "f g now"),
        ("#x\nnow", "now"),
        ("def f(g; $h): g; f(now)", "f g now"),
        ("{a: 1}, now", "now"),
    ],
)
def test_calls_are_told_from_fields_keys_and_texts(text: str, called: str) -> None:
    assert names_of_jq(text).called == set(called.split())


def test_definitions_and_variables_are_told_apart() -> None:
    names = names_of_jq("def f(g; $h): g + $h; def k: 1; . as $x | f(k; $x) | $ENV.a | break $out")
    assert names.defined == {"f", "g", "k"}
    assert names.called == {"f", "g", "k"}
    assert names.variables == {"$h", "$x", "$ENV", "$out"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"a', "a closing quote is missing"),
        (r'"\(1', r"\) is missing at the end"),
        ("(1", r"\) is missing at the end"),
        ("if 1", "end is missing at the end"),
        ("$ ENV", r"a name is missing behind \$"),
        ("$#\nENV", r"a name is missing behind \$"),
        ("# a \\\nnow", "a comment with a backslash or a carriage return"),
        ("# a \r now", "a comment with a backslash or a carriage return"),
        ("(" * 200 + ")" * 200, "more than 100 levels of brackets"),
        (r'"\(' * 200, "more than 100 levels of brackets"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(text: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        names_of_jq(text)
