import pytest
from streams import stream

from gristmill.errors import RecipeError
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.selection import Selection, read_selection


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": ("created",), "discard": ("added",)}, "give keep= or discard=, and not both"),
        ({"discard": ("text",)}, "discard has 'text', which each row must have"),
        ({"keep": ("id",)}, "keep has 'id', which each row has anyway"),
        ({"discard": ("metadata..url",)}, "give a field or a path such as metadata.url"),
        ({"merge": ("words-1",), "edits": (Edit(spans="pii-1__a", mask="*"),)}, "merge= writes attributes of the text"),
        ({"merge": ("words 1",)}, "attribute set 'words 1'"),
    ],
)
def test_fields_that_cannot_be_written_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        stream(**options)


def test_the_ledger_gives_the_fields_back_and_their_order_is_no_part_of_the_recipe() -> None:
    chosen = Selection(keep=("created", "metadata.url"), merge=("a-1", "b-1"), origin=True)
    assert read_selection(chosen.parameters()) == chosen
    assert (
        chosen.parameters()
        == Selection(keep=("metadata.url", "created"), merge=("b-1", "a-1"), origin=True).parameters()
    )
    assert chosen.sets == ("a-1", "b-1")
