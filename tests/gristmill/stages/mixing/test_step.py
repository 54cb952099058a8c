import pytest
from streams import stream
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import reseal_shard

from gristmill.errors import DataError, RecipeError
from gristmill.execution.survey import survey_step
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.step import revision_step, stream_step


def test_a_set_that_ran_before_its_documents_changed_is_an_error(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.raw("b.jsonl.gz", make_documents(3, start=50))
    mill.convert()
    with pytest.raises(DataError, match=r"words-1 \(2024\): shard b has 10 rows .*, its documents 3 of"):
        mill.revise()
    mill.raw("b.jsonl.gz", make_documents(10, start=50))  # as many, but others
    mill.convert()
    with pytest.raises(DataError, match=r"words-1 \(2024\): shard b has 10 rows .*, its documents 10 of"):
        mill.revise()
    mill.raw("c.jsonl.gz", make_documents(3, start=60))
    mill.raw("b.jsonl.gz", make_documents(10, start=10))
    mill.convert()
    with pytest.raises(DataError, match=r"words-1 \(2024\): no shard c"):
        mill.revise()


def test_a_blocklist_that_is_not_there_is_no_empty_one(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    with pytest.raises(RecipeError, match=r"blocklists/takedowns\.jsonl"):
        mill.mix(stream(blocklists=("takedowns",)))


def test_a_changed_selection_of_the_same_name_is_refused_and_weight_is_no_change(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.mix(stream())
    mill.mix(stream(weight=3.0, description="heavier"))
    assert mill.ground == []
    with pytest.raises(RecipeError, match=r"mixes/blend/documents/pages \(2024\).*rate was 1\.0, is 0\.5"):
        mill.mix(stream(rate=0.5))


def test_a_version_gives_the_next_and_a_mix_takes_it(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    v1 = mill.revise()
    assert mill.ids(mill.documents("v1"), "a") == ["doc-00002", "doc-00004", "doc-00006", "doc-00008"]
    assert v1.dropped == {"english": 5, "short": 1}
    assert sorted(i.asset for i in v1.inputs) == [
        "sources/pages/v0/attributes/words-1",
        "sources/pages/v0/documents",
    ]
    assert mill.mix(stream(version="v1")).totals["rows"] == 4


def test_attributes_of_another_content_grind_their_shard_again(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    reseal_shard(mill, mill.attributes("words-1"), "b", content="0" * 32)
    (found,) = survey_step(revision_step(mill.source(), "v1", SNAPSHOT, SHELVES), mill.store)
    assert (found.missing, found.why) == (("b",), ("sources/pages/v0/attributes/words-1 changed: shard b",))


def test_another_version_under_the_same_name_is_refused(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    mill.mix(stream(version="v1"))
    before = mill.tree()
    words = r"pages \(2024\) was made of sources/pages/v1/documents, and its recipe reads sources/pages/v0/documents"
    with pytest.raises(RecipeError, match=rf"{words}\. Declare the change under the next number"):
        mill.mix(stream())
    assert mill.tree() == before
    with pytest.raises(RecipeError, match=words):
        survey_step(stream_step(Mix(name="blend", streams=(stream(),)), "pages", SNAPSHOT, SHELVES), mill.store)


def test_another_version_is_taken_by_a_draft(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    assert [mill.mix(stream(version=each), draft=True).totals["rows"] for each in ("v1", "v0")] == [4, 10]
