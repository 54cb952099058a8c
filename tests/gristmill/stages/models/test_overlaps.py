"""Decontamination in a lake: the index of an evaluation set is made first; a new one marks anew."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from testkit import Mill, notes

from gristmill.errors import DataError, RecipeError
from gristmill.execution.runner import Inline
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.models.labelled_set import Draw
from gristmill.recipes.models.overlaps import OverlapIndexing
from gristmill.recipes.rules import Rule, spans
from gristmill.stages.models.ledger import read_folder
from gristmill.stages.models.overlaps import ITEMS

SHELVES = ("gristmill", "testshelf", "quizshelf")


def catalogue() -> Catalogue:
    own = read_catalogue(("testshelf", "quizshelf"))
    sources = {name: own.sources[name] for name in ("notes", "quiz")}
    return Catalogue(sources, {"asked-1": own.taggers["asked-1"]}, {}, {}, models=dict(own.models))


def planner(mill: Mill, known: Catalogue, *words: str) -> Planner:
    return Planner(known, SHELVES, mill.lake, read_targets(known, words))


def states(mill: Mill, known: Catalogue) -> dict[str, str]:
    return {each.asset: each.state for each in planner(mill, known).survey_all()}


def make(mill: Mill, known: Catalogue, *words: str) -> list[str]:
    maker = Maker(planner(mill, known, *words), mill.lake, Inline(), mill.said.append)
    made = [ledger.asset for ledger in maker.run()]
    maker.raise_failures()
    return made


def labels(mill: Mill) -> Mapping[str, Mapping[str, Any]]:
    place = mill.attributes("asked-1", source="notes")
    rows = [row for shard in mill.table(place) for row in mill.rows(place.shard(shard))]
    return {row["id"]: row["attributes"] for row in rows}


QUESTIONS = ("q1 What colour is the sky at noon?", "q2 who wrote it", "q3 Why?")
NOTES = ("n1 He asked: WHAT colour is the sky, then", "n2 nothing of it", "n3 Who wrote it!")


@pytest.fixture
def asked(mill: Mill) -> Mill:
    notes(mill, *NOTES)
    mill.raw("a.txt", "\n".join(QUESTIONS).encode(), source="quiz")
    return mill


def test_a_set_that_finds_nothing_in_a_run_is_warned_of(asked: Mill) -> None:
    make(asked, catalogue())
    assert not [line for line in asked.said if line.startswith("warning")]
    notes(asked, "n1 alone", "n2 nothing of it")
    make(asked, catalogue())
    [line] = [line for line in asked.said if line.startswith("warning")]
    what = "sources/notes/v0/attributes/asked-1: nothing was found in the 2 rows of this run"
    assert line.startswith(f"warning: {what}; look whether the recipe compares what you mean")


def test_the_index_is_made_before_the_set_and_its_items_are_named(asked: Mill) -> None:
    known = catalogue()
    order = list(states(asked, known))
    documents = order.index("sources/quiz/v0/documents")
    assert documents < order.index("models/questions-1") < order.index("sources/notes/v0/attributes/asked-1")
    make(asked, known)
    assert set(states(asked, known).values()) == {"finished"}
    found = labels(asked)
    assert found["n1"] == {"asked-1__quiz": [[10, 32, 1.0]], "asked-1__quiz_lines": []}
    assert found["n2"] == {"asked-1__quiz": [], "asked-1__quiz_lines": []}
    assert found["n3"] == {"asked-1__quiz": [], "asked-1__quiz_lines": [[0, 12, 2.0]]}
    ledger = read_folder(asked.store, "models/questions-1")
    assert ledger.facts == {"quiz": {"items": 3, "n-grams": 3, "lines": 2, "items without an n-gram or a line": 1}}
    rows = asked.store.read(f"models/questions-1/{ITEMS}").splitlines()
    assert [msgspec.json.decode(row)["id"] for row in rows] == ["q1", "q2", "q3"]


def test_other_questions_make_the_draft_and_its_set_out_of_date(asked: Mill) -> None:
    known = catalogue()
    make(asked, known)
    asked.raw("a.txt", b"q9 nothing of it", source="quiz")
    make(asked, known, "quiz")
    assert states(asked, known)["models/questions-1"] == "wait"  # by hand only
    make(asked, known, "models/questions-1")
    make(asked, known)
    assert labels(asked)["n2"]["asked-1__quiz_lines"] == [[0, 13, 1.0]]
    assert labels(asked)["n1"]["asked-1__quiz"] == []


def test_an_index_that_is_no_draft_stays_and_is_noted_when_its_questions_change(asked: Mill) -> None:
    known = catalogue()
    known.models["questions-1"] = replace(known.models["questions-1"], draft=False)
    make(asked, known)
    assert all(each.why == () for each in planner(asked, known).survey_all())
    asked.raw("a.txt", b"q9 nothing of it", source="quiz")
    asked.said.clear()
    assert make(asked, known) == ["sources/quiz/v0/documents"]
    [note] = [line for line in asked.said if line.startswith("note: models/questions-1: ")]
    assert "the documents of its evaluation sets changed; a model that is no draft stays as it is" in note
    [told] = [each for each in planner(asked, known).survey_all() if each.why]
    assert (told.asset, told.state) == ("models/questions-1", "finished")
    assert labels(asked)["n2"]["asked-1__quiz_lines"] == []


def test_an_evaluation_set_without_documents_is_refused(asked: Mill) -> None:
    asked.raw("a.txt", b"", source="quiz")
    with pytest.raises(DataError, match="evaluation set 'quiz' has no document"):
        make(asked, catalogue())


def test_an_index_of_documents_that_its_own_spans_decide_is_refused() -> None:
    known = catalogue()
    shelf = read_catalogue(("testshelf",))
    pages = shelf.sources["pages"]
    [revision] = pages.revisions
    spanned = replace(
        revision,
        columns=(*revision.columns, spans("asked-1__quiz", "quiz")),
        exclude=(Rule("q", "len(quiz) > 0", "x"),),
    )
    model = replace(
        known.models["questions-1"],
        overlaps=OverlapIndexing(sets={"quiz": (Draw(source="pages", version="v1", snapshots=("2024-01",)),)}),
    )
    tagger = replace(known.taggers["asked-1"], only=("pages",))
    with pytest.raises(RecipeError, match=r"is made of pages/v1, whose rules read its own spans"):
        Catalogue(
            {"pages": replace(pages, revisions=(spanned,))},
            {"asked-1": tagger, "words-1": shelf.taggers["words-1"]},
            {},
            {},
            models={"questions-1": model},
        )
