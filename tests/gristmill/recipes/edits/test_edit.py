import pytest
from streams import stream

from gristmill.errors import RecipeError
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Stream
from gristmill.recipes.row_format import Chat, Prebuilt
from gristmill.recipes.rules import spans
from gristmill.recipes.selection import Selection, read_selection


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spans": "email", "mask": "*"}, "takes an attribute '<set>__<label>'"),
        ({"spans": "pii-1__email"}, "give replacement='...' .* or mask='\\*', and not both"),
        ({"spans": "pii-1__email", "mask": "*", "replacement": ""}, "and not both"),
        ({"spans": "pii-1__email", "mask": "**"}, "give one character"),
        ({"spans": "pii-1__email", "mask": "*", "least": 0.5, "below": 0.5}, "no score is at least 0.5 and below 0.5"),
        ({"spans": "pii-1__email", "replacement": "\ud800"}, "without lone surrogates"),
    ],
)
def test_a_wrong_edit_says_what_to_give(options: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        Edit(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"least_kept": 0.5}, "there are no edits="),
        ({"shortest": 5}, "a rule drops short documents"),
        ({"transforms": ("whitespace",)}, "must end in its number"),
        ({"transforms": ("a-1", "a-1")}, "named twice"),
        ({"columns": (spans("pii-1__email", "edits_email"),)}, "such names are kept for the spans of edits"),
    ],
)
def test_options_of_a_selection_that_contradict_each_other_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        stream(**options)


def test_a_stream_of_chats_refuses_edits_and_transforms() -> None:
    masked = (Edit(spans="pii-1__email", mask="*"),)
    with pytest.raises(RecipeError, match="the text of a chat row is rendered from its turns"):
        Stream(source="pages", version="v0", format=Chat(), edits=masked)
    with pytest.raises(RecipeError, match="the text of a prebuilt row is rendered from its tokens"):
        Stream(source="pages", version="v0", format=Prebuilt(), transforms=("whitespace-1",))


def test_the_ledger_gives_the_edits_back_and_a_recipe_without_edits_is_recorded_as_before() -> None:
    edits = (
        Edit(spans="pii-1__email", replacement="", least=0.5),
        Edit(spans="pii-1__phone", mask="*", below=2.0),
    )
    chosen = Selection(edits=edits, least_kept=0.25, transforms=("whitespace-1",), shortest=7)
    assert read_selection(chosen.parameters()) == chosen
    assert sorted(Selection().parameters()) == ["blocklists", "columns", "exclude", "include", "rate", "seed"]


def test_people_read_what_is_changed() -> None:
    edits = (
        Edit(spans="pii-1__a", mask="*"),
        Edit(spans="pii-1__b", replacement="x"),
        Edit(spans="pii-1__c", replacement=""),
    )
    words = ("pii-1__a is masked", "pii-1__b is replaced", "pii-1__c is deleted", "whitespace-1")
    assert Selection(edits=edits, transforms=("whitespace-1",)).changes_in_words == words


def test_the_sets_of_edits_are_read_without_a_column() -> None:
    chosen = Selection(edits=(Edit(spans="pii-1__email", mask="*"), Edit(spans="pii-1__email", mask="#", least=0.5)))
    assert (chosen.sets, len(chosen.read_columns)) == (("pii-1",), 1)


def test_two_labels_that_would_have_one_column_are_refused() -> None:
    both = (Edit(spans="pii-1__EMAIL", mask="*"), Edit(spans="pii-1__email", mask="*"))
    with pytest.raises(RecipeError, match="must differ by more than case and signs"):
        Selection(edits=both)


def test_a_label_may_be_absent_only_if_every_edit_of_it_says_so() -> None:
    both = [Edit(spans="pii-1__email", mask="*", optional=optional) for optional in (True, False)]
    assert [each.optional for each in Selection(edits=tuple(both)).read_columns] == [False]
    assert [each.optional for each in Selection(edits=(both[0],)).read_columns] == [True]
