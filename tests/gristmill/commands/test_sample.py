import re
from pathlib import Path

import msgspec
import pytest
from testkit import Mill
from wholelake import STREAM, reseal, table

from gristmill.__main__ import main
from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule, field

SHELF = ["--shelves", "gristmill,testshelf"]


@pytest.mark.slow
def test_a_sample_of_a_version_shows_rules_reasons_values_and_texts(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(whole.root), "pages/v1", *SHELF]) == 0
    said = capsys.readouterr().out
    assert said.startswith("sources/pages/v1/documents (2024): 16 rows kept, 24 dropped\n")
    assert "  the counts, rule by rule, are those of its ledger\n" in said
    assert "  dropped by english (20 rows): the readers know no other language\n    rule: lang = 'en'\n" in said
    assert "  dropped by short (4 rows): one word says nothing\n" in said
    assert sorted(re.findall(r"(\S+ row \d+)  (\S+)  words_1__count=1.0\n      \| word\n", said)) == [
        ("a row 0", "doc-00000"),
        ("a row 10", "doc-00010"),
        ("b row 0", "doc-00020"),
        ("b row 10", "doc-00030"),
    ]
    assert len(re.findall(r"row \d+  doc-000\d[13579]  lang=fr\n", said)) == 10


def test_a_sample_of_a_mix_is_the_same_each_time_and_as_long_as_asked_for(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(whole.root), "even", "--rows", "3", *SHELF]) == 0
    first = capsys.readouterr().out
    assert first.count(" row ") == 6
    assert main(["sample", str(whole.root), "even", "--rows", "5", "--stream", "pages", *SHELF]) == 0
    more = capsys.readouterr().out
    assert set(re.findall(r"\S+ row \d+", first)) < set(re.findall(r"\S+ row \d+", more))


def test_the_lake_may_be_left_out(
    whole: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRISTMILL_LAKE", str(whole.root))
    assert main(["sample", "even", *SHELF]) == 0
    said = capsys.readouterr().out
    assert main(["sample", "-", "even", *SHELF]) == 0
    assert capsys.readouterr().out == said
    assert main(["sample", "-", *SHELF]) == 2
    assert capsys.readouterr().err.startswith("-: name a mix or a version, as in wiki/v1,")


def test_a_rule_is_shown_with_the_values_of_the_columns_that_it_reads_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [{"id": "one", "text": "word", "source": "pages"}])
    mill.convert()
    rule = Rule("wordy", "TEXT = 'word' -- not id", "it says one thing")
    mill.mix(Stream(source="pages", version="v0", columns=(field("id"), field("text")), exclude=(rule,)))
    mixes = tmp_path / "namingshelf" / "mixes"
    mixes.mkdir(parents=True)
    for folder in (mixes.parent, mixes):
        (folder / "__init__.py").touch()
    (mixes / "blend.py").write_text(
        "from gristmill.recipes.mix import Mix, Stream\nfrom gristmill.recipes.rules import Rule, field\n"
        f"WORDY = Rule('wordy', {rule.where!r}, 'it says one thing')\nCOLUMNS = (field('id'), field('text'))\n"
        "PAGES = Stream(source='pages', version='v0', columns=COLUMNS, exclude=(WORDY,))\n"
        "BLEND = Mix(name='blend', streams=(PAGES,))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["sample", str(mill.root), "blend", "--shelves", "gristmill,namingshelf"]) == 0
    assert "row 0  one  text=word\n" in capsys.readouterr().out


def test_counts_that_are_not_the_ledgers_are_told_with_exit_code_1(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = table(whole, STREAM)
    reseal(whole, STREAM, [msgspec.structs.replace(a, dropped={"by-four": 3, "other": 1}), b])
    assert main(["sample", str(whole.root), "even", *SHELF]) == 1
    assert (
        "the counts differ from its ledger: by-four 8, in the ledger 7; other 0, in the ledger 1;"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["odd"], "no 'odd' on this shelf; known: even"),
        (["even", "--stream", "x"], "has no stream 'x'"),
        (["even", "--snapshot", "1999"], "no slice of it is finished"),
        (["pages/v7"], "no version 'v7' is selected by rules; such versions: v1"),
        (["even", "--rows", "-1"], "--rows -1"),
    ],
)
def test_a_sample_of_what_is_not_there_exits_with_2(
    whole: Mill, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["sample", str(whole.root), *arguments, "--shelves", "testshelf"]) == 2
    assert said in capsys.readouterr().err


def test_a_ledger_of_another_recipe_is_not_sampled(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    head, _ = read_ledger(whole.store, STREAM)
    recipe = msgspec.structs.replace(head.recipe, parameters={**head.recipe.parameters, "rate": 0.5})
    whole.store.put(STREAM.ledger, as_json(msgspec.structs.replace(head, recipe=recipe)))
    assert main(["sample", str(whole.root), "even", *SHELF]) == 2
    assert "rate was 0.5, is 1.0" in capsys.readouterr().err
