from pathlib import Path
from typing import Any

import pytest
from dagster_kit import letters
from releasekit import release_of_whole, write_older
from testkit import Mill, packed, put_list
from widelake import SHELVES as WIDE
from widelake import arrive, make_targets

from gristmill.__main__ import main
from gristmill.lake.address import blocklist_path
from gristmill.lake.store.protocol import Entry

LEDGER = "shard_ledger.json"
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


def test_a_withdrawn_release_that_was_put_back_is_listed_and_compared_as_withdrawn(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(whole, "even", "tiny-1", "first") == release(whole, "even", "tiny-1", "second") == 0
    files = {entry.path: whole.store.read(entry.path) for entry in whole.store.list("releases/")}
    assert main(["erase", str(whole.root), "--release", "first"]) == 0
    for path, data in files.items():
        whole.store.put(path, data)
    capsys.readouterr()
    assert release(whole, "list") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(" objects; withdrawn: see gristmill verify")
    assert second.endswith(" objects")
    assert release(whole, "diff", "second", "first") == 0
    assert capsys.readouterr().out.startswith("note: releases/first.json: it was withdrawn, as withdrawn/")


class Blend:
    """The mix `blend` of a shelf, made by `make`, and its releases."""

    def __init__(self, mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
        self.mill, self._capsys = mill, capsys

    def raw(self, *numbers: int, snapshot: str = "2024") -> None:
        self.mill.raw("a.jsonl.gz", packed(letters(*numbers)), "letters", snapshot)

    def make(self) -> None:
        assert main(["make", str(self.mill.root), "mixes/blend", "--shelves", "dagshelf"]) == 0

    def release(self, name: str) -> str:
        """What the command says; it starts with the exit code."""
        self._capsys.readouterr()
        code = main(["release", str(self.mill.root), "blend", "tiny-1", name, "--shelves", "dagshelf"])
        out, err = self._capsys.readouterr()
        return f"{code} {err or out}"


@pytest.fixture
def blend(mill: Mill, capsys: pytest.CaptureFixture[str]) -> Blend:
    mill.store.put(blocklist_path("takedowns"), b"")
    made = Blend(mill, capsys)
    made.raw(1, 2, 3, 4)
    made.make()
    return made


def test_what_make_would_make_again_is_not_released(blend: Blend) -> None:
    assert blend.release("first").startswith("0 releases/first.json: ")
    blend.raw(1, 2, 3)
    told = "2 sources/letters/v0/documents (2024): is not up to date: raw data changed: shard a; run `gristmill make`"
    assert blend.release("second").startswith(f"{told} for mixes/blend first")
    assert blend.mill.store.head("releases/second.json") is None
    assert "the lake has this release already; nothing was written" in blend.release("first")
    blend.make()
    assert blend.release("second").startswith("0 ")


def test_a_document_that_was_taken_down_is_not_released_before_it_is_left_out(blend: Blend) -> None:
    put_list(blend.mill.store, b'{"source":"letters","id":"letter-2"}\n')
    told = "2 mixes/blend/documents/letters (2024): is not up to date: "
    assert blend.release("first").startswith(f"{told}blocklists/takedowns.jsonl: row 0: Object missing required field")
    put_list(blend.mill.store, b'{"source":"letters","id":"letter-2","reason":"asked"}\n')
    assert blend.release("first").startswith(f"{told}blocklists/takedowns changed")
    blend.make()
    assert blend.release("first").startswith("0 ")


def test_a_takedown_that_ends_while_a_release_is_written_takes_it_back(
    blend: Blend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = type(blend.mill.store)
    put = store.put_if

    def meanwhile(self: Any, path: str, data: bytes, etag: str | None) -> Entry:
        if path == "releases/first.json":
            monkeypatch.undo()
            put_list(blend.mill.store, b'{"source":"letters","id":"letter-2","reason":"asked"}\n')
        return put(self, path, data, etag)

    monkeypatch.setattr(store, "put_if", meanwhile)
    told = "2 mixes/blend/documents/letters (2024): is not up to date: blocklists/takedowns changed"
    assert blend.release("first").startswith(told)
    assert not [entry.path for entry in blend.mill.store.list("releases/")]
    blend.make()
    assert blend.release("first").startswith("0 ")


def test_a_snapshot_that_was_never_made_is_in_no_release_and_one_that_is_finished_is_in_the_next(blend: Blend) -> None:
    blend.raw(11, 12, snapshot="2025")
    assert "letters (2025): after mixes/blend/documents/letters; so it is not in the release" in blend.release("first")
    folder = Path(blend.mill.root) / "token_caches/blend/tiny-1"
    behind = {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and {"index", LEDGER} & {*path.parts}
    }
    blend.make()
    for path, data in behind.items():
        path.write_bytes(data)
    assert blend.release("second").startswith(
        "2 token_caches/blend/tiny-1/index: is not up to date: its slices changed"
    )
    blend.make()
    assert blend.release("second").startswith("0 ")


def test_raw_data_that_are_gone_are_told_and_stop_no_release(blend: Blend) -> None:
    blend.raw(11, snapshot="2023")  # else the whole source would have no raw data
    blend.mill.store.delete(["sources/letters/raw/2024/a.jsonl.gz"])
    said = blend.release("first")
    assert said.startswith("0 note: sources/letters/v0/documents (2024): ")
    assert "releases/first.json: " in said


@pytest.mark.slow
def test_a_new_snapshot_that_a_dedupe_has_not_compared_stops_no_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels of the pinned snapshots follow the resolution, which only the new snapshot makes due."""
    monkeypatch.syspath_prepend(str(tmp_path))
    mill = make_targets(tmp_path / "lake")
    arrive(mill, "2026")
    shelves = ["--shelves", ",".join(WIDE)]
    assert main(["plan", str(mill.root), "reading", *shelves]) == 1
    assert "follow   sources/papers/v0/attributes/once-1 (2024)" in capsys.readouterr().out
    assert main(["release", str(mill.root), "reading", "tiny-1", "first", *shelves]) == 0
    assert "releases/first.json: " in capsys.readouterr().out
