import itertools

import duckdb
import pytest
from cpu_time import cpu_seconds

from gristmill.errors import RecipeError
from gristmill.recipes.rules import Rule, check_rules, field, score, spans
from gristmill.recipes.sql.rule_sql import allowed_functions, open_sandbox
from gristmill.recipes.sql.worker import ProcessLimits

COLUMNS = (
    field("id"),
    field("text"),
    field("created"),
    field("metadata.license"),
    field("metadata.n", "BIGINT"),
    field("metadata.ok", "BOOLEAN"),
    field("metadata.tags", "VARCHAR[]"),
    score("length-1__words", "words"),
    spans("toxicity-1__sentence", "toxic"),
)


ALLOWED = [
    "words < 50 OR license IS NULL",
    "NOT ok",
    "license IN ('cc0', 'mit') AND n NOT BETWEEN 1 AND 3",
    "lower(license) LIKE 'cc%' OR license ILIKE 'mit%' OR license SIMILAR TO 'apache.*'",
    "regexp_matches(text, '^[A-Z]')",
    "CASE n WHEN 1 THEN TRUE ELSE ok END",
    "coalesce(n, 0) + nullif(n, 3) // 2 > -1",
    "TRY_CAST(license AS BIGINT) > 5",
    "created::TIMESTAMP < TIMESTAMP '2020-01-01' - INTERVAL 1 DAY",
    "extract(year FROM created::DATE) >= 2015",
    "'news' IN tags OR tags[1] = 'web' OR len(tags[1:2]) = 0",
    'toxic[1].score > 0.5 AND toxic[1]."end" > 3',
    "list_max(list_transform(toxic, lambda s: s.score)) > 0.5",
    "list_reduce(list_transform(toxic, lambda s, i: s.score * i), lambda a, b: a + b) > 1",
    "len([s for s in toxic if s.score > 0.5]) > 2",
    "md5_number_lower(id) % 100 < 5",
    "length(text) > 10 -- code points",
    '"license" = \'größer; -- "\' AND ID = id',
    "words::DECIMAL(10, 2) > 1.25",
]


FORBIDDEN = [
    # of other rows, other tables, other statements
    ("id IN (SELECT 'a')", "subquery is not allowed"),
    ("EXISTS (SELECT 1)", "subquery is not allowed"),
    ("n = ANY(tags)", "subquery is not allowed"),
    ("sum(n) > 1", "'sum'"),
    ("count(*) > 1", "'count_star'"),
    ("bool_or(ok)", "'bool_or'"),
    ("row_number() OVER () < 5", "window is not allowed"),
    ("sum(n) OVER () < 5", "window is not allowed"),
    ("list_aggregate(tags, 'reservoir_quantile', 0.5) = 'a'", "'list_aggregate'"),
    ("unnest(tags) = 'a'", "'unnest'"),
    ("read_text('/etc/passwd') IS NULL", "'read_text'"),
    ("ok FROM read_text('/etc/passwd')", "not one SQL expression"),
    ("ok) FROM (SELECT TRUE AS ok", "not one"),
    ("__rows IS NULL", "no column '__rows'"),
    ("rowid < 5", "no column 'rowid'"),
    # of the clock, chance, the environment
    ("random() < 0.5", "'random'"),
    ('"random"() < 0.5', "'random'"),
    ("uuid() = id", "'uuid'"),
    ("now() > created::TIMESTAMP", "'now'"),
    ("current_timestamp > created::TIMESTAMP", "no column 'current_timestamp'"),
    ("current_date > created::DATE", "no column 'current_date'"),
    ("current_localtimestamp() > created::TIMESTAMP", "'current_localtimestamp'"),
    ("age(created::TIMESTAMP) > INTERVAL 1 DAY", "'age'"),
    ("ago(INTERVAL 1 DAY) > created::TIMESTAMP", "'ago'"),
    ("getenv('HOME') = id", "'getenv'"),
    ("current_setting('TimeZone') = id", "'current_setting'"),
    ("getvariable('x') = id", "'getvariable'"),
    ("nextval('x') = n", "'nextval'"),
    ("version() = id", "'version'"),
    ("user = id", "no column 'user'"),
    ("created::TIMETZ IS NULL", "a cast to TIME"),
    ("id COLLATE nocase = 'A'", "collate is not allowed"),
    # of the machine or the version
    ("ln(words) > 1", "'ln'"),
    ("words ** 2 > 1", "'**'"),
    ("hash(id) % 10 = 0", "'hash'"),
    ("repeat('x', 1000000000000) = id", "'repeat'"),
    ("id::JSON IS NULL", "a cast to JSON"),
    ("main.lower(id) = 'a'", "schema is not allowed"),
    ("lower(DISTINCT id) = 'a'", "distinct is not allowed"),
    ("lower(id ORDER BY n) = 'a'", "unusual way"),
    # not one expression
    ("n = ?", "parameter is not allowed"),
    ("n = $n", "parameter is not allowed"),
    ("#1 = 'a'", "positional reference is not allowed"),
    ("*", "star is not allowed"),
    ("COLUMNS('n') = 1", "star is not allowed"),
    ("ok; DROP TABLE x", "not one SQL expression"),
    ("ok;", "not one SQL expression"),
    ("ok) OR (ok", "not one SQL expression"),
    ("ok, ok", "not one"),
    ("ok AS yes", "not one"),
    ("ok LIMIT 1", "not one"),
    ("ALL ok", "not one"),
    ("DISTINCT ok", "not one"),
    ("ok /* AND", "not one SQL expression"),
    ("", "not one SQL expression"),
    ("-- nothing", "not one"),
    # not boolean, or of the wrong types
    ("n", "BIGINT, not BOOLEAN"),
    ("n + 1", "BIGINT, not BOOLEAN"),
    ("NULL", "not BOOLEAN"),
    ("license", "VARCHAR, not BOOLEAN"),
    ("license > 5", "explicit cast"),
    ("words > CAST('abc' AS INTEGER)", "Conversion Error"),
    ("regexp_matches(text, '(')", "missing )"),
    ("toxic.score > 1", "Binder Error"),
    # names
    ("wrods > 1", "no column 'wrods'"),
    ('"wörter" > 1', "no column 'wörter'"),
    ("x.words > 1", "no column 'x.words'"),
    ("len(list_filter(tags, lambda id: id = 'a')) > 0", "the lambda's 'id'"),
    ("len(list_filter(tags, lambda t: u = 'a')) > 0", "no column 'u'"),
    ("tags -> '$.a' = 'x'", "lambda"),
]


@pytest.mark.parametrize("where", ALLOWED)
def test_an_expression_over_the_row_alone_is_a_rule(where: str) -> None:
    check_rules(COLUMNS, [Rule("fine", where, "a test")], [])


@pytest.mark.parametrize(("where", "complaint"), FORBIDDEN)
def test_anything_else_is_refused_by_the_rules_name(where: str, complaint: str) -> None:
    good = Rule("good", "ok", "a test")
    with pytest.raises(RecipeError) as refused:
        check_rules(COLUMNS, [good], [good_too := Rule("good-too", "n > 1", "a test"), Rule("bad", where, "a test")])
    message = str(refused.value)
    assert message.startswith("rule 'bad': ")
    assert complaint in message
    assert message.endswith("; columns: id, text, created, license, n, ok, tags, words, toxic")
    assert good_too.name not in message


DEEP = {
    "parentheses": "(" * 5000 + "ok" + ")" * 5000,
    "not": "NOT " * 3000 + "ok",
    "not, a tree that just parses": "NOT " * 900 + "ok",
    "concatenation": " || ".join(["id"] * 3000) + " = 'a'",
    "sum that just parses": " + ".join(["n"] * 900) + " > 1",
    "case": "CASE WHEN ok THEN " * 300 + "TRUE" + " END" * 300,
    "calls": "abs(" * 900 + "n" + ")" * 900 + " > 1",
    "lists": "[" * 900 + "n" + "]" * 900 + " IS NULL",
    "casts": "n" + "::BIGINT" * 900 + " > 1",
    "slices": "tags" + "[1:]" * 900 + " IS NULL",
}


@pytest.mark.parametrize("where", DEEP.values(), ids=DEEP.keys())
def test_a_very_deep_expression_is_refused_not_a_crash(where: str) -> None:
    with pytest.raises(RecipeError, match=r"rule 'deep': .*(deep|depth)"):
        check_rules(COLUMNS, [Rule("deep", where, "a test")], [])


@pytest.mark.slow
def test_a_rule_that_cannot_be_checked_within_the_limits_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.recipes.rules.CHECK_LIMITS", ProcessLimits(1.5, 400 << 20))
    large = "list_reduce([" + ", ".join(["'ab'"] * 34) + "], lambda x, y: concat(x, x))"
    medium = "list_reduce([" + ", ".join(["'ab'"] * 20) + "], lambda x, y: concat(x, x))"
    long = f"levenshtein({medium}, reverse({medium})) > n"
    good = Rule("good", "n > 1", "a test")
    with pytest.raises(RecipeError, match="rule 'large': Out of Memory"):
        check_rules(COLUMNS, [good], [Rule("large", f"length({large}) > n", "a test")])
    with pytest.raises(RecipeError, match=r"rule 'long': it takes more than 1\.5 s of CPU time on a row of nulls"):
        check_rules(COLUMNS, [good], [Rule("long", long, "a test")])


def test_every_listed_function_is_one_of_this_duckdb() -> None:
    callable_ = allowed_functions(open_sandbox())
    assert len(callable_) == 171  # as many as rule_sql lists
    assert not callable_ & {"random", "now", "hash", "age", "current_localtime", "getvariable", "list_aggr"}


WHOLE = "e\u0301\0\U0001f600 é"
ARGUMENTS = ("t", "t, t", "t, 'é'", "t, 1", "t, 1, 2", "t, 'é', 'x'", "t, chr(0)", "t, [1, 2]")
HASHES = {"md5", "md5_number_lower", "md5_number_upper", "sha1", "sha256", "regexp_escape"}


@pytest.mark.slow
def test_no_function_ends_a_text_at_its_first_nul() -> None:
    connection = open_sandbox()
    called = 0
    for name, arguments in itertools.product(sorted(allowed_functions(connection) - HASHES), ARGUMENTS):
        sql = f"SELECT {name}({arguments}) FROM (SELECT ?::varchar AS t)"
        try:
            [(given,)] = connection.execute(sql, [WHOLE]).fetchall()
            [(other,)] = connection.execute(sql.replace("chr(0)", "chr(1)"), [WHOLE.replace("\0", "\1")]).fetchall()
        except duckdb.Error:
            continue  # these arguments are not for this function
        called += 1
        assert repr(given) == repr(other).replace(r"\x01", r"\x00"), f"{name}({arguments})"
    assert called > 100
    two = "SELECT nfc_normalize(?), list_transform([?], lambda piece: strip_accents(nfc_normalize(piece)))[1]"
    assert connection.execute(two, [WHOLE, WHOLE]).fetchall() == [("é\0\U0001f600 é", "e\0\U0001f600 e")]
    empty = "SELECT strip_accents(NULL), strip_accents(''), strip_accents(chr(0)), nfc_normalize('é' || chr(0))"
    assert connection.execute(empty).fetchall() == [(None, "", "\0", "é\0")]


def test_the_sandbox_reads_no_files_and_keeps_its_settings() -> None:
    connection = open_sandbox()
    for statement in (
        "SELECT * FROM read_text('pyproject.toml')",
        "COPY (SELECT 1) TO 'x.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "SET threads = 2",
        "SET enable_external_access = true",
        "SET TimeZone = 'Asia/Tokyo'",
    ):
        with pytest.raises(Exception, match=r"disabled|locked"):
            connection.execute(statement)
    names = "'TimeZone', 'threads', 'enable_external_access'"
    rows = connection.execute(f"SELECT value FROM duckdb_settings() WHERE name IN ({names}) ORDER BY name").fetchall()
    assert sorted(value for (value,) in rows) == ["1", "UTC", "false"]


def test_hundreds_of_recipes_are_checked_in_a_moment() -> None:
    check_rules(COLUMNS, [Rule("warm", "ok", "a test")], [])

    def fifty() -> None:
        for n in range(50):
            rules = [Rule(f"rule-{i}", where, "a test") for i, where in enumerate([*ALLOWED[:5], f"n > {n}"])]
            check_rules(COLUMNS, rules[:3], rules[3:])

    assert cpu_seconds(fifty) / 50 < 0.03  # seconds; about 0.002, with room for a busy machine
