"""JSONPath as Dolma's engine evaluates it. The expected values were asked of Dolma 1.2.1 itself.

tests/real_dolma/test_real_mix.py asks again.
"""

from typing import Any

import pytest

from gristmill.dolma.formats.path_parser import parse_path
from gristmill.errors import RecipeError

METADATA: dict[str, Any] = {
    "b": [1, 2, 3],
    "e": [],
    "o": {},
    "nul": None,
    "n": 1,
    "m": [[1, 2], [3], []],
    "s": "str",
    "k-x": 2,
    "p": [{"a": 1}, {"a": 2, "b": 1}],
    "neg": -3,
    "z": -0.0,
    "t": True,
}
DOCUMENT = {"id": "1", "text": "t", "source": "x", "metadata": METADATA}

MATCH = """\
$.metadata.b[1:]
$.metadata.b[2:0]
$.metadata.b[::2]
$.metadata.b[ 0 ]
$.metadata.nul
$.metadata[?(@.nul)]
$.metadata[?(@.nul == null)]
$.metadata[?(!(!(@.n)))]
$.metadata[?(@.q == @.r)]
$.metadata.m[?(@[0])]
$.metadata.m[?(@[0] == 3)]
$.metadata.m[?(!@[1])]
$.metadata[?(@.k-x == 2)]
$.metadata[?(@.neg<-2.5)]
$.metadata[?(@.z == 0.0)]
$.metadata[?(@.t == true)]
$.metadata.p[?(@.b)].a
$.metadata.p[*].b
$.metadata[?(@.n == 1 || @.q == 1 && @.q == 2)]
$.metadata[?('a' == 'a')]
$.metadata[?(@.b == [1,2,3])]
$.metadata[?(@.s nin ['a'])]
$.metadata[?(@.s in ['str','b'])]
$.metadata[?(@.b anyOf [9,3])]
$.metadata[?(@.b subsetOf [1,2,3,4])]
$.metadata[?(@.s size 3)]
$.metadata[?(@.q size 3)]
$.metadata[?(@.n>=1&&@.n<=1)]
$.metadata.['n']
@.metadata
$@.metadata[?(@.n)]
$.*.n
$..*.a
$.metadata['n','zz']
$.metadata[?(@..a)]
$.metadata[?(@.b[*] == @.b[*])]
$.metadata[?(@['n'] == 1)]
$.metadata[?(@.n==1)][?(@.s=='str')]
$.metadata[?(1.5 > @.n)]
$.metadata[?(null)]
$.metadata[?(@.n in @.b)]
$.metadata[?(@.n in @.p[0])]
$.metadata.p[?(@.a == 1 && $.metadata.n == 1)]
$.metadata[?(@.s ~= '^s')]"""

NO_MATCH = """\
$.metadata.e[*]
$.metadata.o.*
$..zzz
$.metadata.b[0:10]
$.metadata.b[5:]
$.metadata[?(@.q != @.r)]
$.metadata.m[?(@[0] && @[1])]
$.metadata[?(@.z == 0)]
$.metadata[?(@.n == 1.0)]
$.metadata[?(@.n >= 1.0)]
$.metadata[?( (@.n == 1 || @.q == 1) && @.q == 2)]
$.metadata[?(@.n size 1)]
$.metadata[?(@.s > 'a')]
$.metadata['zz','yy']
$.metadata[?(@.b[*] > 0)]
$.metadata[?(@.n == 1.0e0)]
$.metadata[?(@.s == 'st\\'r')]
$.metadata[?(@.q == null)]
$.metadata[?(@.s in 'str')]
$.metadata.p.a"""

REFUSED_BY_DOLMA = """\
$.metadata[?(!!@.n)]
$.metadata [ ?( @ . n ) ]
$.metadata.b[01]
$.metadata.b[-1]
$.metadata.'n'
$.metadata[?@.n]
$.metadata[?(@.s =~ /s/)]
$.metadata[?(@.s == "str")]
$.metadata.méta
$.metadata[?(@.e == [])]
metadata
$."""


@pytest.mark.parametrize("text", MATCH.splitlines())
def test_what_matches(text: str) -> None:
    assert parse_path(text).matches(DOCUMENT)


@pytest.mark.parametrize("text", MATCH.splitlines())
def test_the_fields_that_a_path_names_are_all_that_it_reads(text: str) -> None:
    path = parse_path(text)
    assert path.fields is None or path.matches({key: DOCUMENT[key] for key in path.fields})


@pytest.mark.parametrize("text", NO_MATCH.splitlines())
def test_what_does_not_match(text: str) -> None:
    assert not parse_path(text).matches(DOCUMENT)


@pytest.mark.parametrize("text", ["", *REFUSED_BY_DOLMA.splitlines()])
def test_what_dolmas_engine_refuses(text: str) -> None:
    with pytest.raises(RecipeError, match="at character"):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$.b.length()", "ignores the value of length"),
        ("$.b[::0]", "step 0, at which Dolma's engine fails"),
        ("$.b[0,-1]", "no index"),
        ("$[?(@.n in [1])]", "a list of one value"),
        ("$.a$.b", "would begin anew"),
        ("$[?(@.s ~= 's(?=t)')]", "would match nothing"),
        ("$[?(@.s ~= @.p)]", "in single quotes"),
        ("$[?(" + "(" * 40 + "@.a" + ")" * 40 + ")]", "levels of parentheses"),
        ("$" + ".a" * 60_000, "at most 100,000"),
    ],
)
def test_what_it_takes_and_does_not_do_is_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(RecipeError, match=reason):
        parse_path(text)
