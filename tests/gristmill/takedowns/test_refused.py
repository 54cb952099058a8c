"""Refused rows that are longer than what the quarantine keeps of them."""

import gzip
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill, make_documents, own_shelf, packed

from gristmill.lake.address import documents_asset, place, raw_folder
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
from gristmill.takedowns.places import Search
from gristmill.takedowns.refused import quarantine_places
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.rows import find_partition

LOOSE = """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source

LOOSE = Source(name="loose", convert=JsonLines(source="loose"), quarantine_limit=1.0)
"""
LONG = "y" * (HEAD + 10)


@pytest.mark.parametrize(
    ("row", "unsearched"),
    [
        (f'{{"pad":"{LONG}","words":"his","id":"d3"}}', 1),
        (f'{{"pad":"{LONG}","words":"his","id":"d\\u0033"}}', 1),
        (f'{{"pad":"{LONG}","words":"his","id":"d3",}}', 1),
        (f'{{"pad":"{LONG}{LONG}","words":"his","id":"d3"}}', 1),
        (f'{{"pad":"{LONG}","words":"of another","id":"d4"}}', 0),
        ('{"words":"of another","id":"d4"}', 0),
    ],
)
def test_an_id_behind_what_the_quarantine_keeps_is_looked_for_in_the_raw_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, unsearched: int
) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    own_shelf(mill, "sources", LOOSE)
    monkeypatch.syspath_prepend(str(tmp_path))
    mill.raw("a.jsonl.gz", packed(make_documents(1)) + gzip.compress(row.encode(), mtime=0), "loose")
    source = find_recipe("sources", Source, ("own_sources",), "loose")
    mill.make(ConversionStep(source, SNAPSHOT, ("own_sources",)))
    documents = find_partition(mill.store, place(documents_asset("loose", "v0"), SNAPSHOT))
    assert documents is not None
    search = Search()
    assert not list(quarantine_places(mill.store, documents, source, Wanted({("pages", "d3"): ""}), search))
    raw = f"{raw_folder('loose', SNAPSHOT)}a.jsonl.gz"
    assert [f"{raw} has such an id behind byte" in each for each in search.unread_rows.values()] == [True] * unsearched


@pytest.mark.parametrize(
    ("row", "places"),
    [
        ("{'id': 'd3', 'words': 'his'}", 1),
        ("{id: d3, words: his}", 1),
        ('{"words": "his", "id": "d3', 1),
        ("{'id': 'd33', 'words': 'of another'}", 0),
        ('{"id":"d4","words":"of d3"}', 0),
    ],
)
def test_a_row_that_begins_like_json_and_is_none_is_searched_for_the_id_as_a_word(
    tmp_path: Path, row: str, places: int
) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", packed(make_documents(200)) + gzip.compress(row.encode(), mtime=0))
    mill.convert()
    documents = find_partition(mill.store, mill.documents())
    assert documents is not None
    search = Search()
    found = list(quarantine_places(mill.store, documents, mill.source(), Wanted({("pages", "d3"): ""}), search))
    assert (len(found), search.unread_rows) == (places, {})
