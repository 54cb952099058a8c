"""A column that no row of a shard has is an error that names set, label, shard and mend, unless it is optional."""

import pytest
from streams import rule, stream
from testkit import Mill, make_documents

from gristmill.errors import DataError
from gristmill.recipes.mix import recipe_of_selection
from gristmill.recipes.rules import Column, field, score, spans


@pytest.fixture
def tagged(mill: Mill) -> Mill:
    """Two rows in shard a, three French ones in shard b, none in shard c."""
    mill.raw("a.jsonl.gz", make_documents(2))
    french = [{**row, "metadata": {"language": "fr"}} for row in make_documents(3, start=2)]
    mill.raw("b.jsonl.gz", french)
    mill.raw("c.jsonl.gz", [])
    mill.convert()
    mill.tag("words-1", "faulty-1")
    return mill


def test_a_misspelt_label_of_a_set_without_a_declaration_fails_with_the_near_ones(tagged: Mill) -> None:
    words = (
        r"attributes/faulty-1/2024/a\.jsonl\.gz: none of its 2 rows has a label 'lable' of the set faulty-1"
        r" \(column 'n'\); did you mean 'label'\? known: label; correct the label, or say"
        r" score\('faulty-1__lable', optional=True\) if a whole shard may lack it"
    )
    with pytest.raises(DataError, match=words):
        tagged.mix(stream(columns=(score("faulty-1__lable", "n"),), exclude=rule("n > 5")))
    assert tagged.store.head(tagged.stream().ledger) is None
    assert tagged.store.head(tagged.stream().shard("a")) is None
    assert tagged.ids(tagged.stream(), "c") == []  # a shard without rows lacks nothing


def test_a_misspelt_field_fails_by_its_path(tagged: Mill) -> None:
    words = r"documents/2024/b\.jsonl\.gz: none of its 3 rows has metadata.number \(column 'number'\); correct the path"
    with pytest.raises(DataError, match=words):
        tagged.mix(stream(columns=(field("metadata.number", "BIGINT"),), exclude=rule("number > 5")))
    assert tagged.ids(tagged.stream(), "a") == ["doc-00000", "doc-00001"]  # its rows have numbers


@pytest.mark.parametrize(
    "column",
    [
        score("faulty-1__lable", "n", optional=True),
        spans("faulty-1__lable", "n", optional=True),
        field("metadata.a.b", "BIGINT", name="n", optional=True),
        score("words-1__silent", "n"),  # its tagger declares that documents may lack it, and shard b does
    ],
)
def test_what_a_recipe_calls_optional_may_be_absent(tagged: Mill, column: Column) -> None:
    tagged.mix(stream(columns=(column,)))
    assert [tagged.table(tagged.stream())[name].rows for name in "abc"] == [2, 3, 0]


def test_one_row_that_has_it_is_enough_and_nothing_found_is_a_value(mill: Mill) -> None:
    rows = make_documents(3)
    rows[2]["metadata"] = {"language": "fr", "note": None}
    rows[0]["text"] = ""
    mill.raw("a.jsonl.gz", rows[:1])
    mill.raw("b.jsonl.gz", rows[1:])
    mill.convert()
    mill.tag("words-1")
    mill.mix(stream(columns=(spans("words-1__first", "first"),)), draft=True)  # the only row of shard a has []
    assert [mill.table(mill.stream())[name].rows for name in "ab"] == [1, 2]
    with pytest.raises(DataError, match=r"/a\.jsonl\.gz: its only row does not have metadata.note") as failed:
        mill.mix(stream(columns=(field("metadata.note"),)), draft=True)
    assert "/b.jsonl.gz" not in str(failed.value)  # there it is null once


def test_optional_is_no_part_of_the_recipe() -> None:
    plain, lenient = (stream(columns=(score("words-1__count", "n", optional=each),)) for each in (False, True))
    digests = {recipe_of_selection("blend/pages", each, draft=False).digest for each in (plain, lenient)}
    assert len(digests) == 1
