"""A reader gives documents the name of its recipe as their source. A lake that was made otherwise keeps its own."""

from dataclasses import replace
from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.readers.dolma import DolmaLines
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from gristmill.stages.conversion.named_source import other_source_line
from gristmill.stages.conversion.step import ConversionStep

FORUM = Source(name="forum", convert=JsonLines(source="forums"))


def converted(mill: Mill, source: Source) -> list[str]:
    """The sources of the documents that a recipe makes."""
    with pytest.MonkeyPatch.context() as shelf:
        shelf.setattr("gristmill.stages.conversion.grinder.find_recipe", lambda *_: source)
        mill.make(ConversionStep(source, SNAPSHOT, SHELVES))
    return [row["source"] for row in mill.rows(mill.documents(source=source.name).shard("a"))]


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [{"id": "d0", "text": "one"}, {"id": "d1", "text": "two", "site": "x"}], source="forum")
    return mill


@pytest.mark.parametrize("reader", [JsonLines(source="forums"), DolmaLines("forums")])
def test_a_reader_with_another_source_than_its_recipe_is_refused(mill: Mill, reader: JsonLines | DolmaLines) -> None:
    with pytest.raises(RecipeError, match=r"source 'forum': .* write \w+\(source='forum'\) in place of 'forums'"):
        converted(mill, replace(FORUM, convert=reader))
    assert mill.store.head(mill.documents(source="forum").ledger) is None
    assert converted(mill, replace(FORUM, convert=replace(reader, source="forum"))) == ["forum", "forum"]
    with pytest.raises(RecipeError, match="gives its documents another source"):
        converted(mill, replace(FORUM, convert=reader, draft=True))


def test_a_lake_that_was_made_so_keeps_its_documents_and_plan_says_it(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("gristmill.stages.conversion.step.check_named", lambda *_: None)
        assert converted(mill, FORUM) == ["forums", "forums"]
    mill.raw("b.jsonl.gz", [{"id": "d2", "text": "three"}], source="forum")
    assert converted(mill, FORUM) == ["forums", "forums"]
    assert mill.ground == ["b"]
    [note] = Catalogue({"forum": FORUM}, {}, {}, {}).notes
    assert note.startswith("source forum: its reader gives its documents the source 'forums', not 'forum'")


def test_rows_that_carry_their_own_source_are_read_by_any_reader(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [{"id": "d0", "text": "one", "site": "here"}], source="forum")
    assert converted(mill, replace(FORUM, convert=JsonLines(source="any", source_key="site"))) == ["here"]
    told = other_source_line(mill.store, mill.documents(source="forum"))
    assert told.startswith("sources/forum/v0/documents: documents have a source of their own, such as 'here';")
    mill.raw("a.jsonl.gz", [{"id": "d0", "text": "one"}])
    mill.convert()
    assert other_source_line(mill.store, mill.documents()) == ""


def test_make_says_once_that_documents_have_another_source(mill: Mill) -> None:
    for snapshot in ("2024", "2025"):
        mill.raw("a.jsonl.gz", [{"id": f"d{snapshot}", "text": "one", "source": "own"}], snapshot=snapshot)
    pages = Catalogue({"pages": replace(mill.source(), revisions=())}, {}, {}, {})
    planner = Planner(pages, SHELVES, mill.lake, read_targets(pages, ()))
    list(Maker(planner, mill.lake, Inline(), mill.said.append).run())
    [note] = [line for line in mill.said if line.startswith("note: sources/pages/v0/documents")]
    assert "such as 'own'" in note
