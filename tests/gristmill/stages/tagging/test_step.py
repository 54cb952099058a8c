from dataclasses import replace

import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import DataError, RecipeError
from gristmill.stages.tagging.step import TaggingStep


def test_a_set_has_the_shards_the_rows_and_the_ids_of_its_documents(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    ledger = mill.tag("words-1")
    assert ledger.totals["rows"] == 30
    documents, rows = mill.table(mill.documents()), mill.table(mill.attributes("words-1"))
    assert [(s.name, s.rows, s.ids) for s in documents.values()] == [(s.name, s.rows, s.ids) for s in rows.values()]
    assert mill.ids(mill.attributes("words-1"), "b") == mill.ids(mill.documents(), "b")
    assert [(i.asset, i.snapshot) for i in ledger.inputs] == [("sources/pages/v0/documents", SNAPSHOT)]


def test_several_sets_in_one_run_are_the_same_as_one_by_one(
    mill: Mill, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Mill(tmp_path_factory.mktemp("other"))
    for each in (mill, other):
        each.raw_shards(2)
        each.convert()
    mill.tag("words-1", "characters-1")
    assert mill.ground == ["a", "b"]
    other.tag("characters-1")
    other.tag("words-1")
    assert mill.tree() == other.tree()


def test_only_the_sets_that_miss_a_shard_are_ground(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    before = mill.stamps()
    mill.tag("words-1", "characters-1")
    assert mill.ground == ["a", "b"]
    after = mill.stamps()
    assert {path: after[path] for path in before} == before


def test_a_changed_tagger_of_the_same_name_is_refused_with_what_changed(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    (tagger,) = mill.tagging("words-1").taggers
    mill.tag("words-1")
    changed = replace(tagger, parameters={"threshold": 2})
    with pytest.raises(RecipeError, match=r"attributes/words-1 \(2024\).*threshold was absent, is 2"):
        mill.make(TaggingStep("pages", "v0", SNAPSHOT, (changed,), SHELVES))


def test_documents_that_are_not_there_yet_are_named(mill: Mill) -> None:
    with pytest.raises(DataError, match="sources/pages/v0/documents: snapshot 2024 is not there yet"):
        mill.tag("words-1")
