"""`weights`: the table of a mix's streams."""

import pytest
from testkit import Mill
from wholelake import CACHE

from gristmill.__main__ import main
from gristmill.lake.ledger.files import read_head
from gristmill.recipes.catalogue import read_catalogue

SHELF = ["--shelves", "gristmill,testshelf"]


def test_the_tokens_of_each_cache_are_shown_with_epochs(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    head = read_head(whole.store, CACHE)
    assert head is not None
    tokens = head.totals["train tokens"]
    assert main(["weights", str(whole.root), "even", "--budget", str(5 * tokens), *SHELF]) == 0
    title, headings, row, warning = capsys.readouterr().out.splitlines()
    assert title == f"mix even, tokenizer tiny-1: training reads {5 * tokens:,} tokens"
    assert headings.split() == ["stream", "tokens", "share", "read", "rate", "epochs"]
    assert row.split() == ["pages", f"{tokens:,}", "1", f"{5 * tokens:,}", "1", "5"]
    assert warning == "  warning: stream 'pages' is read 5 times; more than 4 times teaches little"


@pytest.mark.slow
def test_plan_shows_how_training_reads_a_mix_whose_budget_is_solved(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of the mix is due, so its table follows; a budget that cannot be met names stream and tokens."""
    mix = read_catalogue(("gristmill", "testshelf")).mixes["even"]
    command = ["plan", str(whole.root), "--mix", "even", *SHELF]
    assert main(command) == 1
    assert "training reads" not in capsys.readouterr().out
    monkeypatch.setitem(vars(mix), "token_budget", 1_000_000)
    monkeypatch.setitem(vars(mix.streams[0]), "most_epochs", 2.0)
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "mix even, tokenizer tiny-1: training reads 1,000,000 tokens" in lines
    assert lines[-1].startswith("  the budget cannot be met: stream 'pages' is short of ")
    assert main(["preview", str(whole.root), "even", "--rows", "0", *SHELF]) == 0
    assert "mix even, estimated from this preview: training reads 1,000,000 tokens" in capsys.readouterr().out


def test_what_is_not_there_is_named(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", str(whole.root), "odd", *SHELF]) == 2
    assert "known: even, starter" in capsys.readouterr().err
    assert main(["weights", str(whole.root), "even", "--tokenizer", "tiny-2", *SHELF]) == 2
    assert "tiny-1" in capsys.readouterr().err
    assert main(["weights", str(whole.root), "even", "--budget", "0", *SHELF]) == 2
    assert "give a number of tokens, 1 or more" in capsys.readouterr().err
