import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from testkit import Mill

from gristmill.__main__ import main

SHELF = ["--shelves", "gristmill,testshelf"]


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["sql", *words, *SHELF]) == code
    found = capsys.readouterr()
    return found.err if code else found.out


def test_without_a_query_the_tables_are_listed(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert "pages_v0_words_1                         sources/pages/v0/attributes/words-1\n" in said(
        capsys, str(whole.root)
    )


@pytest.mark.parametrize("word", ["", "recipes"])
def test_a_word_that_is_no_lake_is_named_at_once(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipes").mkdir()
    monkeypatch.chdir(tmp_path)
    for query in ([], ["select 1"]):
        assert said(capsys, word, *query, code=2).startswith(f"{word!r} is no lake: there is no folder of this name")


@pytest.mark.slow
def test_rows_are_a_table_csv_json_or_parquet(whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake, sql = str(whole.root), "select id, count / 3 as third, null as none from pages_v0_words_1 order by row, id"
    assert said(capsys, lake, sql, "--rows", "2") == (
        "id         third     none\ndoc-00000  0.333333  NULL\ndoc-00020  0.333333  NULL\n"
        "... more rows; --rows N shows more, --format csv all\n"
    )
    assert said(capsys, lake, sql, "--format", "csv").splitlines()[:2] == [
        "id,third,none",
        "doc-00000,0.3333333333333333,",
    ]
    assert said(capsys, lake, sql, "--format", "json").splitlines()[0] == (
        '{"id":"doc-00000","third":0.3333333333333333,"none":null}'
    )
    output = tmp_path / "rows.parquet"
    assert said(capsys, lake, sql, "--format", "parquet", "--output", str(output)) == ""
    assert pq.read_table(output).num_rows == 40
    assert "name a file with --output" in said(capsys, lake, sql, "--format", "parquet", code=2)


def test_escape_sequences_of_texts_do_not_reach_the_terminal(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, str(whole.root), "select chr(27) || '[31mred' as \"a\x1bb\"")
    assert found == "a\\x1bb\n\\x1b[31mred\n"


def test_several_words_are_no_query(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the query is one word, in quotes" in said(capsys, str(whole.root), "select", "1", code=2)


def test_nothing_is_written_into_the_lake_and_no_column_is_lost(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, shard = str(whole.root), next(whole.root.rglob("documents/**/*.jsonl.gz"))
    before = shard.read_bytes()
    for form in ("csv", "parquet"):
        words = (lake, "select 1 as x", "--format", form, "--output")
        assert "is in the lake" in said(capsys, *words, str(shard), code=2)
        assert "cannot be written" in said(capsys, *words, str(tmp_path / "no/file"), code=2)
    assert shard.read_bytes() == before
    assert "two columns have the name 'x'" in said(capsys, lake, "select 1 as x, 2 as x", "--format", "json", code=2)


@pytest.mark.parametrize("option", ["--threads", "--rows"])
def test_numbers_that_no_machine_bears_are_refused(
    whole: Mill, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in ("0", "-1", str(10**12)):
        assert f"{option} {number}: give a number" in said(capsys, str(whole.root), "select 1", option, number, code=2)


def test_whole_numbers_have_all_their_digits(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    values = (
        "2992493588950532::double as cluster, -3::double as low, 0.123456789::double as share, 1e300::double as high"
    )
    assert main(["sql", str(whole.root), f"select {values}"]) == 0
    assert capsys.readouterr().out.split() == [
        "cluster",
        "low",
        "share",
        "high",
        "2992493588950532",
        "-3",
        "0.123457",
        "1e+300",
    ]


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        ("select 'infinity'::timestamp", "table"),
        ("select '-infinity'::date", "csv"),
        ("select timestamp '290000-01-01'", "json"),
        ("select interval 3 days", "parquet"),
        ("select union_value(a := 1)", "parquet"),
    ],
)
def test_a_value_that_a_form_cannot_hold_is_told(
    whole: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, form: str
) -> None:
    output = tmp_path / "rows"
    assert main(["sql", str(whole.root), sql, "--format", form, "--output", str(output)]) == 2
    assert f"a value does not fit {form}" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("value", ["'2024-01-01 00:00:00.123456789'::timestamp_ns", "'12:00:00.123456789'::time_ns"])
def test_nanoseconds_that_a_form_lacks_are_told_in_words(
    whole: Mill, value: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, str(whole.root), f"select {value} as x", "--format", form, code=2)
    assert f"the query: a value does not fit {form}" in told
    assert "cast it: `col::varchar`" in told


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        ("(2::uhugeint ** 127)::uhugeint", "UHUGEINT", ""),
        ("340282366920938463463374607431768211455::uhugeint", "UHUGEINT", "340282366920938463463374607431768211455"),
        (
            "[340282366920938463463374607431768211455::uhugeint]",
            "UHUGEINT[]",
            "[340282366920938463463374607431768211455]",
        ),
        ("'0101'::bit", "BIT", "0101"),
        ("'12:00:00+15:59'::timetz", "TIME WITH TIME ZONE", "12:00:00+15:59"),
    ],
)
def test_values_that_would_become_others_are_refused(
    whole: Mill, value: str, kind: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, str(whole.root), f"select {value} as x", code=2)
    assert f"column 'x' is {kind}, which Arrow lacks; cast it: `col::varchar`" in told
    if shown:
        assert said(capsys, str(whole.root), f"select ({value})::varchar as x") == f"x\n{shown}\n"


def test_a_query_that_is_nested_too_deeply_is_told(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    deep = "select " + "[" * 400 + "1" + "]" * 400 + " as x"
    assert "the query is nested too deeply" in said(capsys, str(whole.root), deep, code=2)


def test_a_sum_of_whole_numbers_is_a_number_in_json(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    longer, share = "sum(n) * 10000000000000000000", "sum(n / 4)::decimal(9, 2)"
    sql = f"select sum(n) as total, {longer} as longer, {share} as share from range(4) as r(n)"
    assert json.loads(said(capsys, str(whole.root), sql, "--format", "json")) == {
        "total": 6,
        "longer": "60000000000000000000",
        "share": "1.50",
    }


@pytest.mark.parametrize("asked", ["show tables", "SHOW ALL TABLES;"])
def test_show_tables_lists_what_is_listed_without_a_query(
    whole: Mill, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    assert main(["sql", str(whole.root)]) == 0
    listed = capsys.readouterr().out
    assert "pages_v0 " in listed
    assert main(["sql", str(whole.root), asked]) == 0
    assert capsys.readouterr().out == listed
