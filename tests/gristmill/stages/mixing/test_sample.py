import pytest
from streams import rule, stream
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.errors import DataError
from gristmill.recipes.rules import field, score
from gristmill.stages.mixing.sample import KEPT, Sample, draw_sample

ENGLISH = stream(columns=(field("metadata.language", name="lang"),), include=rule("lang = 'en'", "english"))


def drawn(mill: Mill, size: int) -> Sample:
    return draw_sample(mill.store, "pages", "v0", SNAPSHOT, ENGLISH, size)


def test_all_rows_are_counted_and_some_of_each_reason_are_shown(mill: Mill) -> None:
    mill.raw_shards(3)  # 30 documents, of which the even ones are English
    mill.convert()
    found = drawn(mill, 4)
    assert (found.rows, found.dropped) == (15, {"english": 15})
    assert {reason: len(examples) for reason, examples in found.examples.items()} == {KEPT: 4, "english": 4}
    for reason, examples in found.examples.items():
        for each in examples:
            number = "abc".index(each.shard) * 10 + each.row
            assert each.pair == ("pages", f"doc-{number:05d}")
            assert each.values == {"lang": "en" if reason == KEPT else "fr"}
            assert (number % 2 == 0, each.text) == (reason == KEPT, " ".join(["word"] * (number % 5 + 1)))


def test_a_smaller_sample_is_the_begin_of_a_larger_one(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    small, large = drawn(mill, 3), drawn(mill, 100)
    for reason, examples in large.examples.items():
        assert len(examples) == 15
        assert small.examples[reason] == examples[:3]
    assert drawn(mill, 0).examples == {KEPT: [], "english": []}


def test_a_set_that_lacks_a_shard_is_named(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    mill.raw("b.jsonl.gz", make_documents(3, start=50))
    mill.convert()
    selection = stream(columns=(score("words-1__count", "words"),), exclude=rule("words < 2"))
    with pytest.raises(DataError, match=r"attributes/words-1 \(2024\): no shard b; make the set again"):
        draw_sample(mill.store, "pages", "v0", SNAPSHOT, selection, 1)
