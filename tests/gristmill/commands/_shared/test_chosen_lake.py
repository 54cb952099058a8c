"""Which words name the lake."""

from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.commands._shared.chosen_lake import is_lake_address


@pytest.mark.parametrize("word", ["-", ".", "./there", "../lake", "/lakes/mine", "~/lake", "s3://corpus/lake"])
def test_a_path_names_the_lake(word: str) -> None:
    assert is_lake_address(word)


@pytest.mark.parametrize(
    "below", ["sources/letters/raw", "sources/letters/v0/ledgers", "mixes/m/ledgers", "token_caches/m/t/ledgers"]
)
def test_a_folder_names_the_lake_if_it_has_raw_data_or_ledgers(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("letters").mkdir()
    assert not is_lake_address("letters")
    assert not is_lake_address("nowhere")
    Path("letters", below).mkdir(parents=True)
    assert is_lake_address("letters")


@pytest.mark.parametrize("asset", ["labels/tones-1", "models/tones-1", "tokenizers/tones-bpe-1", "mixes/m/index"])
def test_a_folder_names_the_lake_if_it_has_the_ledger_of_an_asset_without_snapshots(
    asset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Path("letters", asset, "ledger.json")
    ledger.parent.mkdir(parents=True)
    assert not is_lake_address("letters")
    ledger.touch()
    assert is_lake_address("letters")


@pytest.mark.parametrize("command", ["acquire", "gc", "sync", "ui", "verify"])
def test_a_bare_word_that_is_no_lake_is_refused_and_makes_no_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    for word in ("corpsu", "notes"):
        assert main([command, word]) == 2
        assert capsys.readouterr().err.count(f"{word!r} is no lake: ") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
