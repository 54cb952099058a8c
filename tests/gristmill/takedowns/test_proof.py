"""A proof has a line for each area of each kind of asset, also of the kinds that packages add."""

import json
from pathlib import Path

import pytest
from songs import Songs

EVERY_KIND = """
import json
from collections import defaultdict
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import KINDS
from gristmill.lake.store.open import open_store
from gristmill.takedowns.proof import proof_lines
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves

store, wanted, told = open_store("lake"), Wanted({("verses", "b.txt"): ""}), {}
for kind in (kind for kind in KINDS if kind.area):
    odd = place(kind.address.format_map(defaultdict(lambda: "odd-1", version="v1")), "2030")
    store.put(odd.ledger, b"no ledger")
    lines = list(proof_lines(store, wanted, "takedowns", Shelves(("songbook",), {})))
    store.delete([odd.ledger])
    told[kind.name] = [line.what for line in lines if not line.is_settled and f"{odd.asset} (2030): " in line.why]
print(json.dumps(told))
"""


@pytest.fixture
def songs(tmp_path: Path) -> Songs:
    songs = Songs(tmp_path)
    (tmp_path / "ids").write_text('{"source": "verses", "id": "b.txt"}\n')
    assert songs.run("make", "short-1")[0] == 0
    return songs


def proven(songs: Songs, *words: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code of a proof; state and reason of each line."""
    code, said = songs.run("takedown", "lake", "--ids", "ids", "--prove", "--json", *words)
    return code, {line["what"]: (line["state"], line["why"]) for line in map(json.loads, said.splitlines())}


def test_what_is_not_searched_of_any_kind_is_in_a_line(songs: Songs) -> None:
    """A ledger of each kind that nobody can read, one after another; `torn` is of a broken package."""
    _, said = songs.python(EVERY_KIND)
    assert json.loads(said) == {
        "documents": ["live lake", "versions and sets", "quarantine"],
        "attributes": ["versions and sets", "excerpts and labels"],
        "fingerprints": ["versions and sets"],
        "clusters": ["versions and sets"],
        "mix": ["live lake"],
        "token cache": ["live lake"],
        "export": ["live lake"],
        "lengths": ["lengths"],
        "torn": ["torn"],
    }


def test_rows_of_a_package_remain_after_a_takedown_and_are_not_proven_after_an_erasure(songs: Songs) -> None:
    """First the documents are made again without the rows, then nobody makes the rows any longer."""
    shard = "lengths/short-1/verses/1/b.txt.jsonl.gz"
    songs.run("takedown", "lake", "--ids", "ids")
    state, why = proven(songs)[1]["lengths"]
    assert (state, f"{shard}: made from document 0 of its shard" in why) == ("remains", True), why

    (songs.top / "lake/sources/verses/raw/1/b.txt").write_text("The stone\nIt rests.\n")
    assert songs.run("make", "sources/verses")[0] == 0
    code, lines = proven(songs)
    state, why = lines["lengths"]
    stale = "lengths/short-1/verses (1): made from another version of shard b.txt, so its documents are not known"
    assert (code, state, why) == (1, "not proven", f"{stale}; make it again")
    (songs.top / "songbook/lengths/short.py").unlink()
    assert "; or delete lengths/short-1/verses/ lengths/short-1/ledgers/verses/" in proven(songs)[1]["lengths"][1]


def test_rows_of_a_package_that_is_not_installed_are_not_proven_unless_they_are_excluded(songs: Songs) -> None:
    points = songs.site / "millextras-1.2.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().partition("[gristmill.asset_kinds]")[0])
    lines = proven(songs)[1]
    state, why = lines["lengths/"]
    assert (state, "made by the package millextras 1.2, which is not installed" in why) == ("not proven", True), why
    lines = proven(songs, "--exclude", "lengths")[1]
    assert "lengths/" not in lines
    assert "excluded by name: lengths/short-1/" in lines["foreign files"][1]
