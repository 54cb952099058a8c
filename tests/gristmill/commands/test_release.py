from pathlib import Path

import pytest
from releasekit import release_of_whole, write_older
from testkit import Mill

from gristmill.__main__ import main

SHELF = ["--shelves", "gristmill,testshelf"]


def release(whole: Mill, *words: str) -> int:
    return (
        main(["release", *words[:1], str(whole.root), *words[1:], *SHELF])
        if words[0] in {"diff", "list"}
        else main(["release", str(whole.root), *words, *SHELF])
    )


def test_a_release_is_made_listed_and_compared(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(whole, "list") == 0
    assert capsys.readouterr().out == "the lake has no releases\n"
    assert release(whole, "even", "tiny-1", "first") == 0
    said = capsys.readouterr().out
    assert said.startswith("releases/first.json: 8 documents, ")
    assert "releases/first/card.md: the data card" in said
    assert (Path(whole.root) / "releases/first/card.md").read_text().startswith("# first\n")
    assert (Path(whole.root) / "releases/first/croissant.json").read_text().startswith("{\n")
    assert release(whole, "even", "tiny-1", "first") == 0
    assert "the lake has this release already" in capsys.readouterr().out
    assert release(whole, "even", "tiny-1", "second") == 0
    capsys.readouterr()
    assert release(whole, "diff", "first", "second") == 0
    assert capsys.readouterr().out == "first and second: the same data, made and read in the same way\n"
    assert release(whole, "list") == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["first", "second"]
    assert main(["verify", str(whole.root)]) == 0


def test_a_release_of_version_0_2_keeps_its_card(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    write_older(whole, release_of_whole(whole))
    assert release(whole, "even", "tiny-1", "first") == 0
    assert "the lake has this release already; nothing was written\n" in capsys.readouterr().out
    assert main(["verify", str(whole.root), "--all", *SHELF]) == 0
    assert "card" not in capsys.readouterr().out
    whole.store.delete(["releases/first/card.json"])
    assert release(whole, "even", "tiny-1", "first") == 0
    assert "so written again: releases/first/card.json\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["even", "tiny-1"], "give MIX TOKENIZER NAME, or diff A B, or list"),
        (["evne", "tiny-1", "first"], "did you mean 'even'"),
        (
            ["even", "tiny-2", "first"],
            "release names the tokenizer 'tiny-2', which is on no shelf; known: starter-bpe-1",
        ),
        (["even", "starter-bpe-1", "first"], "token_caches/even/starter-bpe-1/index: not made yet"),
        (["even", "tiny-1", "first", "--export", "oscra"], "release names the export 'oscra', which is on no shelf"),
        (["even", "tiny-1", "First!"], "First!"),
    ],
)
def test_what_is_wrong_is_said(whole: Mill, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert release(whole, *words) == 2
    assert message in capsys.readouterr().err
    assert whole.store.head("releases/first.json") is None


def test_a_release_that_nobody_knows_ends_with_1_and_the_known_names(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(whole, "even", "tiny-1", "first") == 0
    capsys.readouterr()
    told = "releases/frist.json: the lake has no such release; did you mean 'first'? known: first\n"
    assert release(whole, "diff", "first", "frist") == 1
    assert capsys.readouterr().err == told
    assert main(["erase", str(whole.root), "--release", "frist", *SHELF]) == 1
    assert capsys.readouterr().err == told
    assert whole.store.head("releases/first.json") is not None
