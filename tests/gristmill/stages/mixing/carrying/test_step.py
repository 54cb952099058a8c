"""A carried set in a lake: from a tagger's set to the next version, its ledger, its audit, and what reads it."""

from dataclasses import replace
from typing import Any

import pytest
from labelrows import write_labels
from lies import audit
from streams import rule, stream
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import rewrite

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import attributes_asset, place
from gristmill.pipeline.graph import RecipeGraph
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import Targets
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Mix
from gristmill.recipes.rules import score, spans
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.mixing.carrying.step import CarryingStep
from gristmill.stages.mixing.step import revision_step

V1 = "sources/pages/v1/documents"
CARRIED = place(attributes_asset("pages", "v1", "carried-words-1"), SNAPSHOT)
SURE = Edit(spans="words-1__first", replacement="|||", least=0.9)
WORDS = find_recipe("taggers", Tagger, SHELVES, "words-1")


def source(mill: Mill, **options: Any) -> Source:
    """v1 of `pages`: documents of two words and more. Their first word is replaced."""
    declared: dict[str, Any] = {
        "columns": (score("words-1__count", name="words"),),
        "exclude": rule("words < 2"),
        "edits": (SURE,),
        "carry": ("words-1",),
        **options,
    }
    return replace(mill.source("pages"), revisions=(Revision(version="v1", **declared),))


def start(mill: Mill) -> None:
    """Two shards of ten documents; number n has n % 5 + 1 times `word`. The first word is marked, and the last one."""
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    for number, shard in enumerate("ab"):
        labels = []
        for n in range(number * 10, number * 10 + 10):
            words = n % 5 + 1
            last = [5 * words - 5, 5 * words - 1, 0.5]
            first = {"words-1__first": [[0, 4, 1.0], last], "words-1__count": [[0, 5 * words - 1, float(words)]]}
            labels.append(first | ({"words-1__silent": [[0, 5 * words - 1, 1.0]]} if n % 2 else {}))
        write_labels(mill, mill.attributes("words-1"), shard, labels, first=number * 10)


def carrying(of: Source) -> CarryingStep:
    return CarryingStep(of, "v1", "words-1", SNAPSHOT, tuple(WORDS.labels or ()), SHELVES)


def made(mill: Mill, **options: Any) -> Source:
    start(mill)
    of = source(mill, **options)
    mill.make(revision_step(of, "v1", SNAPSHOT, SHELVES))
    mill.make(carrying(of))
    return of


def test_the_carried_set_has_the_rows_of_the_version_and_the_spans_that_no_edit_touches(mill: Mill) -> None:
    made(mill)
    documents, rows = (mill.rows(at.shard("b")) for at in (mill.documents("v1"), CARRIED))
    assert [row["id"] for row in rows] == [each["id"] for each in documents]
    assert rows[2] == {
        "id": "doc-00013",
        "source": "pages",
        "attributes": {"carried-words-1__first": [[14, 18, 0.5]]},
    }
    for row, document in zip(rows, documents, strict=True):
        [(begin, end, sure)] = row["attributes"]["carried-words-1__first"]
        assert (document["text"][begin:end], document["text"][:3], sure) == ("word", "|||", 0.5)
    assert mill.table(CARRIED)["b"].counts == {
        "spans carried": 8,
        "spans dropped: touched by an edit": 8,
        "scores of documents, which are not carried": 12,
    }


def test_its_ledger_names_its_inputs_and_its_audit_is_clean(mill: Mill) -> None:
    of = made(mill)
    ledger = mill.make(carrying(of))
    assert mill.ground == []
    read = ["sources/pages/v0/documents", V1, "sources/pages/v0/attributes/words-1"]
    assert [each.asset for each in ledger.inputs] == sorted(read)
    assert carrying(of).reads == tuple(read)
    assert audit(mill)[0] == []


def test_a_changed_shard_is_carried_again_and_no_other(mill: Mill) -> None:
    of = made(mill)
    before = mill.table(CARRIED)
    write_labels(mill, mill.attributes("words-1"), "b", [{"words-1__first": [], "words-1__count": 3.0}] * 10, first=10)
    with pytest.raises(DataError, match="v0/attributes/words-1 has changed since it was made; make it again first"):
        mill.make(carrying(of))
    mill.make(revision_step(of, "v1", SNAPSHOT, SHELVES))
    mill.make(carrying(of))
    after = mill.table(CARRIED)
    assert (after["a"], after["b"].counts) == (before["a"], {"scores of documents, which are not carried": 10})


def test_spans_are_carried_over_transforms_and_without_edits(mill: Mill) -> None:
    made(mill, edits=(), transforms=("whitespace-1",), exclude=())
    assert mill.table(CARRIED)["a"].counts["spans carried"] == 20


def test_a_text_that_the_edits_do_not_give_stops_the_shard(mill: Mill) -> None:
    of = made(mill)
    rows = mill.lines(mill.documents("v1").shard("b"))
    rewrite(mill, mill.documents("v1"), "b", [rows[0], rows[1].replace(b"|||", b"||"), *rows[2:]])
    with pytest.raises(DataError, match=r"v1/documents/2024/b\.jsonl\.gz: row 1: its text is not the one that"):
        mill.make(carrying(of))


def test_a_version_that_was_made_by_another_recipe_must_be_made_first(mill: Mill) -> None:
    made(mill)
    with pytest.raises(DataError, match=r"v1/documents .*: was made by another recipe; make it again first"):
        mill.make(carrying(source(mill, edits=(Edit(spans="words-1__first", mask="*"),))))


def catalogue(of: Source, *streams: Any) -> Catalogue:
    mixes = {"blend": Mix(name="blend", streams=streams)} if streams else {}
    return Catalogue({"pages": of}, {"words-1": WORDS}, mixes, {})


def test_the_graph_has_the_carried_set_and_a_mix_may_read_it(mill: Mill) -> None:
    read = stream(
        version="v1", columns=(spans("carried-words-1__first", name="firsts"),), include=rule("len(firsts) > 0")
    )
    recipes = catalogue(source(mill), read)
    assert (CARRIED.asset, "pages") in list(recipes.partitioned_assets())
    needed = RecipeGraph(recipes, SHELVES).needed(Targets((CARRIED.asset,)), {"pages": [SNAPSHOT]}, mill.store)
    assert needed.keys() >= {CARRIED.asset, *carrying(source(mill)).reads}
    made(mill)
    states = {each.asset: each.state for each in Planner(recipes, SHELVES, mill.lake).survey_all()}
    assert states[CARRIED.asset] == "finished"
    mill.mix(read)
    assert mill.table(mill.stream())["a"].rows == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"carry": ("wrods-1",)}, r"carry=.*wrods-1.*words-1"),
        ({"carry": ("words-1", "words-1")}, "carry has 'words-1' twice"),
        ({"carry": ("no name",)}, "give names of attribute sets"),
    ],
)
def test_what_cannot_be_carried_is_named(mill: Mill, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        catalogue(source(mill, **options))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (score("carried-words-1__count"), "'count' is a score of the document, and only spans are carried"),
        (spans("carried-words-1__frist"), "declares no label 'frist'"),
        (spans("carried-silent-1__first"), "carried-words-1"),
    ],
)
def test_a_rule_over_a_label_that_is_not_carried_is_an_error(mill: Mill, column: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        catalogue(source(mill), stream(version="v1", columns=(column,), include=rule("true")))
