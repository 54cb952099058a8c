import pytest

from gristmill.errors import RecipeError
from gristmill.reading.columns import Kinds, choose_columns, schema_of_columns
from gristmill.recipes.rules import field, score


def kinds(name: str) -> Kinds | None:
    return {"words": "score", "lines": "spans"} if name == "known-1" else None


def shown(*asked: object, sets: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    columns = choose_columns(list(asked), sets, kinds)  # type: ignore[arg-type]
    return [(column.name, str(column.type)) for column in columns]


SPANS = "list<item: struct<start: int64, end: int64, score: double>>"


def test_without_a_choice_there_are_all_fields_the_labels_and_the_place() -> None:
    columns = choose_columns(None, ["known-1", "other-1"], kinds)
    assert [column.name for column in columns] == [
        "id", "source", "text", "added", "created", "metadata", "known-1__words", "known-1__lines", "other-1",
        "snapshot", "shard", "row",
    ]  # fmt: skip


def test_types_are_declared() -> None:
    assert shown("known-1__words", "known-1__lines", "other-1__x") == [
        ("known-1__words", "double"), ("known-1__lines", SPANS), ("other-1__x", SPANS),
    ]  # fmt: skip
    assert shown("metadata", "metadata.a.b", "row", "snapshot") == [
        ("metadata", "string"), ("metadata.a.b", "string"), ("row", "int64"), ("snapshot", "string"),
    ]  # fmt: skip
    declared = [field("metadata.n", kind) for kind in ("BIGINT",)]
    assert shown(*declared, score("other-1__x", "x")) == [("n", "int64"), ("x", "double")]
    assert (
        str(schema_of_columns(choose_columns([], ["other-1"], kinds)).field("other-1").type) == f"map<string, {SPANS}>"
    )


def test_a_label_that_is_asked_for_by_itself_is_not_given_a_second_time_by_its_set() -> None:
    assert shown(score("known-1__words", "words"), sets=("known-1",)) == [
        ("words", "double"),
        ("known-1__lines", SPANS),
    ]
    assert shown("other-1__x", sets=("other-1",)) == [("other-1__x", SPANS)]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["known-1__word"], "the set 'known-1' has no label 'word'; did you mean 'words'?"),
        (["tex"], "there is no column 'tex'; did you mean 'text'?"),
        (["metadata."], "there is no column 'metadata.'"),
        (["__x"], "there is no column '__x'"),
        ([], "columns=[] reads nothing"),
        (["id", "id"], "two columns are named 'id'"),
    ],
)
def test_columns_that_do_not_exist_are_refused(asked: list[str], words: str) -> None:
    with pytest.raises(RecipeError) as told:
        choose_columns(asked, (), kinds)
    assert words in str(told.value)
