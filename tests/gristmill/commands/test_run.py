"""`run` and `sync`: the same lake as by `make`, and Dagster has it on record."""

from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, JOURNEY, LETTERS_V0, TINY_LETTERS, Works, letters
from testkit import Mill

from assets.support.keys import key_of
from gristmill.__main__ import main


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three letters as raw data, which no Dagster has seen."""
    with dg.DagsterInstance.ephemeral() as instance:
        Works(tmp_path / "lake", instance).raw(letters(1, 2, 3))
    for name, value in (
        ("DAGSTER_HOME", str(tmp_path / "home")), ("GRISTMILL_ENGINE", "inline"), ("GRISTMILL_SHELVES", "dagshelf")
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path / "lake"


def recorded(home: Path, address: str) -> set[str]:
    with dg.DagsterInstance.from_config(str(home)) as instance:
        return instance.get_materialized_partitions(key_of(address))


@pytest.mark.slow
def test_run_registers_the_snapshot_and_makes_all_that_make_makes(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(lake), "letters"]) == 0
    said = capsys.readouterr().out
    assert "materialize 5 assets of 2024" in said  # documents and sets of both versions in one run
    assert "1 run; 11 of 11 checks passed; `gristmill ui` shows them" in said
    assert [recorded(lake.parent / "home", address) for address in JOURNEY] == [{"2024"}] * 5
    assert main(["make", str(lake), "letters"]) == 0
    assert "everything is up to date" in capsys.readouterr().out
    assert main(["run", str(lake), "letters"]) == 0
    assert "everything is up to date" in capsys.readouterr().out


@pytest.mark.slow
def test_run_makes_mixes_tokens_and_indexes_too(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["make", str(lake), "letters"]) == 0
    assert main(["run", str(lake)]) == 0  # the mix, its tokenizer, its tokens and two indexes are left
    assert "5 runs; " in capsys.readouterr().out
    assert recorded(lake.parent / "home", TINY_LETTERS) == {"2024"}


@pytest.mark.slow
def test_sync_shows_what_make_made(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["make", str(lake), "letters"]) == 0
    assert main(["sync", str(lake)]) == 0
    assert capsys.readouterr().out.endswith(f"Dagster in {lake.parent / 'home'} shows the lake {lake}\n")
    assert recorded(lake.parent / "home", LETTERS_V0) == {"2024"}
    assert recorded(lake.parent / "home", BLEND_LETTERS) == set()


@pytest.mark.slow
def test_a_failed_run_is_an_error_and_what_waits_is_not_tried(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (raw,) = (lake / "sources" / "letters" / "raw" / "2024").iterdir()
    raw.write_bytes(raw.read_bytes()[:-9])
    assert main(["run", str(lake), "letters"]) == 2
    said = capsys.readouterr()
    assert "a.jsonl.gz" in said.out
    assert "failed: see Runs in the UI; what was made is kept" in said.err
    assert recorded(lake.parent / "home", LETTERS_V0) == set()


def test_an_unknown_target_is_told_before_dagster_is_loaded(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(lake), "lettres"]) == 2
    assert "'lettres' is on no shelf" in capsys.readouterr().err
    assert not (lake.parent / "home" / "history").exists()


LABELS = """
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
GOOD, BAD = Draw(source="yard", version="{version}", snapshots=("a",)), Draw(source="yard", snapshots=("b",))
DRAWN = LabelledSet(name="{name}", drawn={{"good": (GOOD,), "bad": (BAD,)}})
"""
TRAINED = """
from gristmill.recipes.models.model import FastTextTraining, Model
TRAINING = FastTextTraining(labels="{name}", positive="good", dim=4, epochs=20, buckets=1000)
TRAINED = Model(name="{name}-1", training=TRAINING, draft=True)
"""
JUDGE = """
from gristmill.recipes.models.fasttext import fasttext_tagger
JUDGE = fasttext_tagger("{name}-1", model="{name}-1", labels=("good",))
"""
YARD = """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision, Source
POOR = {"columns": (score("first-1__good", "good"),), "exclude": (Rule("poor", "good < 0.5", "x"),)}
YARD = Source(name="yard", convert=JsonLines(source="yard"), revisions=(Revision(version="v1", **POOR),))
"""
MIXED = """
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score
POOR = {"columns": (score("second-1__good", "good"),), "exclude": (Rule("poor", "good < 0.5", "x"),)}
MIXED = Mix(name="mixed", streams=(Stream(source="yard", version="v0", **POOR),))
"""


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """Two classifiers read v0: v1 keeps what the first calls good, the second is trained on v1, and a mix reads it."""
    modules = {"sources/yard": YARD, "mixes/mixed": MIXED}
    for name, version in (("first", "v0"), ("second", "v1")):
        for kind, recipe in (("labels", LABELS), ("models", TRAINED), ("taggers", JUDGE)):
            modules[f"{kind}/{name}"] = recipe.format(name=name, version=version)
    for module, recipe in modules.items():
        file = tmp_path / "yardshelf" / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(recipe)
        (file.parent / "__init__.py").touch()
    (tmp_path / "yardshelf" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for variable, value in (
        ("DAGSTER_HOME", str(tmp_path / "home")), ("GRISTMILL_ENGINE", "inline"), ("GRISTMILL_SHELVES", "yardshelf")
    ):  # fmt: skip
        monkeypatch.setenv(variable, value)
    mill = Mill(tmp_path / "lake")
    for key, words in (("a", "river hill moon"), ("b", "buy cheap offer")):
        mill.raw("x.jsonl.gz", [{"id": f"{key}{n}", "text": f"{words} {n}"} for n in range(40)], "yard", key)
    return mill


@pytest.mark.slow
def test_run_makes_sets_of_one_version_of_which_a_model_reads_one_and_makes_another(
    yard: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(yard.root)]) == 0, capsys.readouterr()
    assert main(["plan", str(yard.root)]) == 0
    # two snapshots of v0 and v1, with two sets each, and of the mix; its index; two labelled sets and two models
    assert capsys.readouterr().out.splitlines()[-1] == "19 partitions: 19 finished"
