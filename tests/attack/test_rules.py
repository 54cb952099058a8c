"""Rules that ask for too much: each ends within its limits, by name, and none decides about a row it was ended on.

The text is 200 kB, the limits are 1.5 s of CPU time and 600 MB. Some rules are honest work at this size, and have a
result; the others are refused when they are checked, or fail by the name of the rule.
"""

import resource
from collections.abc import Iterator

import pytest
from streams import rule, stream
from testkit import Mill

from gristmill.engines.local import LocalPool
from gristmill.errors import DataError, RecipeError
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.sql.worker import ProcessLimits
from gristmill.stages.mixing.rule_engine import RuleEngine, RuleFailed, RulesStopped

COLUMNS = (field("text"), field("metadata.n", "BIGINT"), field("metadata.tags", "VARCHAR[]"))
TEXT = "ab" * 100_000
LIMITS = ProcessLimits(1.5, 600 << 20)
EACH = "str_split(text, '')"
PIECES = "list_transform(str_split(text, ''), lambda x: "


def _nested(open_: str, inner: str, close: str, times: int) -> str:
    return open_ * times + inner + close * times


def _doubled(times: int) -> str:
    return "list_reduce([" + ", ".join(["'a'"] * times) + "], lambda p, q: concat(p, p))"


LARGE = [
    f"length(list_reduce({EACH}, lambda a, b: concat(a, a))) > 3",
    f"length(list_reduce({EACH}, lambda a, b: concat(a, b, a))) > 3",
    f"len(list_reduce({PIECES}[x]), lambda a, b: list_concat(a, a))) > 3",
    f"len(list_reduce({PIECES}[x]), lambda a, b: a || a)) > 3",
    "length(regexp_replace(text, '', text, 'g')) > 3",
    "length(regexp_replace(text, '.', text, 'g')) > 3",
    f"length(regexp_replace(text, 'a', '{'x' * 9000}', 'g')) > 3",
    "length(replace(text, 'a', text)) > 3",
    "length(replace(replace(text, 'a', text), 'b', text)) > 3",
    "length(" + _nested("replace(", "text", ", 'a', 'aaaaaaaaaaaaaaaa')", 4) + ") > 3",
    f"length(array_to_string({EACH}, '{'x' * 9000}')) > 3",
    f"length(array_to_string({PIECES}text), '')) > 3",
    f"len({PIECES}{EACH})) > 3",
    f"len({PIECES}list_transform({EACH}, lambda y: text))) > 3",
    f"len(flatten({PIECES}{EACH}))) > 3",
    f"len([y for y in [text || x for x in {EACH}] if y <> '']) > 3",
    f"len(list_filter({EACH}, lambda x: len(list_filter({EACH}, lambda y: y = x)) > 1)) > 3",
    f"len(list_sort({PIECES}text || x))) > 3",
    f"len(list_zip({', '.join([EACH] * 60)})) > 3",
    "length(" + _nested("str_split(", EACH, "::VARCHAR, '')", 4) + "::VARCHAR) > 3",
    "length(" + _nested("regexp_escape(", "replace(text, 'a', '[')", ")", 40) + ") > 3",
    f"length(concat({', '.join(['text'] * 4000)})) > 3",
    f"len([{', '.join([EACH] * 200)}]) > 3",
    f"length(concat_ws(text, {', '.join(['text'] * 3000)})) > 3",
    "damerau_levenshtein(text, reverse(text)) > 3",
    f"list_sum({PIECES}length(replace(text, x, text)))) > 3",
    f"list_sum({PIECES}levenshtein(text, x || text))) > 3",
    f"list_sum({PIECES}length(md5(text || x)))) > 3",
    f"list_sum({PIECES}strpos(text, x || text))) > 3",
    f"list_has_any({EACH}, {PIECES}x || text))",
    f"list_sum({PIECES}list_position({EACH}, x || 'z'))) > 3",
    f"list_contains({PIECES}jaccard(text, x || text)), 2.0)",
    f"list_sum({PIECES}hamming(text, x || substr(text, 2)))) > 3",
    f"list_sum({PIECES}length(strip_accents(nfc_normalize(upper(text)))))) > 3",
    " OR ".join(["n = 1"] * 40_000),
]
"""Ask for memory."""

LONG = [
    "levenshtein(text, reverse(text)) > 3",
    "levenshtein(text || text || text, reverse(text)) > 3",
    f"list_max({PIECES}damerau_levenshtein(left(text, 2000), x || left(text, 1999)))) > 3",
    f"length(list_reduce({EACH}, lambda a, b: left(reverse(concat(a, b)), 100000))) > 3",
    f"length(list_reduce({EACH}, lambda a, b: sha256(concat(text, a, b)))) > 3",
    f"list_sum({PIECES}(regexp_matches(text, x || '+c'))::INT)) > 3",
    f"list_sum({PIECES}len(list_filter({EACH}, lambda y: x < y)))) > 3",
]
"""Ask for time, and some for memory too."""

REFUSED = [
    _nested("(", "n", ")", 20_000) + " > 1",
    "NOT " * 900 + "(n > 1)",
    "NOT " * 30_000 + "(n > 1)",
    " + ".join(["n"] * 900) + " > 1",
    " + ".join(["n"] * 50_000) + " > 1",
    " || ".join(["text"] * 600) + " = 'a'",
    "CASE WHEN n = 1 THEN " * 300 + "TRUE" + " END" * 300,
    "CASE WHEN n = 1 THEN " * 3000 + "TRUE" + " END" * 3000,
    _nested("abs(", "n", ")", 900) + " > 1",
    _nested("lower(", "text", ")", 5000) + " = 'a'",
    _nested("[", "n", "]", 900) + " IS NULL",
    "-" * 5000 + "n > 1",
    "n" + "::BIGINT" * 900 + " > 1",
    "n" + "::BIGINT" * 20_000 + " > 1",
    "tags" + "[1:]" * 900 + " IS NULL",
    f"length({_doubled(40)}) > n",
    f"regexp_matches(text, {_doubled(40)})",
    f"levenshtein({_doubled(24)}, reverse({_doubled(24)})) > n",
    f"damerau_levenshtein({_doubled(20)}, {_doubled(20)}) > n",
    "length(" + _nested("regexp_replace(", f"'{'a' * 300}'", f", '', '{'a' * 300}', 'g')", 4) + ") > n",
]
"""Too deep, or too much for the check itself."""

HONEST = [
    "regexp_matches(text, '(a?){1000}a{1000}c')",
    "regexp_matches(text, '((a|b)*(a|b)*){30}c$')",
    "regexp_matches(text, '(.*){20}c')",
    "text SIMILAR TO '(((a|b)*)*)*c'",
    "len(regexp_extract_all(text, '(a|b)*?')) = 1",
    f"text LIKE '{'%a' * 2000}c'",
    f"text ILIKE '{'%a_' * 1000}c'",
    "contains(text, right(text, length(text) // 2) || 'c')",
    "instr(text, left(text, length(text) // 2) || 'a') > 3",
    f"len(list_sort({EACH}, 'DESC')) > len(list_reverse_sort(list_sort({EACH})))",
    f"list_reduce({PIECES}1), lambda a, b: a + 1) = 7",
    "n IN (" + ", ".join(map(str, range(2, 5_000))) + ")",
    f"text = '{'x' * 5_000_000}'",
]
"""Look dear, but are not; none is true of the row."""


def engine(where: str) -> RuleEngine:
    return RuleEngine(COLUMNS, [Rule("cheap", "n = 1", "a test")], [Rule("hostile", where, "a test")], LIMITS)


def batch() -> dict[str, list[object]]:
    return {"text": ["ab", TEXT], "n": [1, 1], "tags": [["a"], ["a"]]}


@pytest.fixture(autouse=True, scope="module")
def bounded() -> Iterator[None]:
    """This process itself holds the texts and nothing of what the rules make of them."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # kB


def _ids(wheres: list[str]) -> list[str]:
    return [f"{number}: {where[:60]}" for number, where in enumerate(wheres)]


@pytest.mark.parametrize("where", [*LARGE, *LONG], ids=_ids([*LARGE, *LONG]))
def test_a_rule_that_asks_for_too_much_fails_by_name(where: str) -> None:
    made = engine(where)
    with pytest.raises((RuleFailed, RulesStopped)) as failed:
        made.decide_rows(batch())
    words = str(failed.value)
    assert "rule 'hostile'" in words
    assert "CPU time" in words or "emory" in words
    assert engine("n = 2").decide_rows(batch()).tolist() == [0, 0]  # the next one is answered


@pytest.mark.parametrize("where", REFUSED, ids=_ids(REFUSED))
def test_a_rule_that_cannot_be_checked_is_refused_by_name(where: str) -> None:
    with pytest.raises(RecipeError, match=r"^rule 'hostile': "):
        engine(where)


@pytest.mark.parametrize("where", HONEST, ids=_ids(HONEST))
def test_a_rule_that_only_looks_dear_has_a_result(where: str) -> None:
    assert engine(where).decide_rows(batch()).tolist() == [0, 0]


@pytest.mark.parametrize("workers", [1, 2])
def test_in_a_mix_its_shard_fails_and_the_others_are_made(mill: Mill, workers: int) -> None:
    """With the limits of every run: 2 GiB."""
    for name in "abcd":
        text = TEXT if name == "b" else "ab"
        mill.raw(f"{name}.jsonl.gz", [{"id": name, "text": text, "source": "pages"}])
    mill.convert()
    large = stream(columns=(field("text"),), include=rule("length(replace(text, 'a', text)) > 0"))
    pool = LocalPool(workers, small=0)
    with pytest.raises(DataError, match=r"1 of 4 shards failed(.|\n)*2024/b\.jsonl\.gz: row 0: .*Out of Memory"):
        mill.mix(large, engine=pool)
    pool.close()
    assert [name for name in "abcd" if mill.store.head(mill.stream().shard(name))] == ["a", "c", "d"]
