"""What a mix declares to hold out by a key."""

from dataclasses import replace

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.held_out import HeldOut
from gristmill.recipes.rules import Column, field, score
from gristmill.recipes.selection import Selection, read_selection
from gristmill.recipes.source import Revision

HOST = field("metadata.host")
PAGES = Stream(source="pages", version="v0", columns=(HOST,))
BY_HOST = Mix(name="blend", streams=(PAGES,), validation=0.3, validation_key=HOST)


def test_a_key_goes_to_every_stream_and_comes_back_from_the_ledger() -> None:
    [stream] = BY_HOST.streams
    assert stream.parameters()["held_out"] == {"share": 0.3, "key": ["metadata.host", "VARCHAR"], "seed": 0x76616C}
    assert read_selection(stream.parameters()).parameters() == stream.parameters()
    assert [column.path for column in stream.read_columns] == ["metadata.host", "metadata.host"]
    assert "held_out" not in PAGES.parameters()
    assert replace(BY_HOST, validation_key=None).streams == (PAGES,)


def test_the_attribute_set_of_a_key_is_read() -> None:
    mix = Mix(name="blend", streams=(PAGES,), validation=0.3, validation_key=score("near-1__cluster"))
    assert mix.streams[0].sets == ("near-1",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"validation_key": HOST}, "holds nothing out; give validation too"),
        ({"validation_key": field("metadata.n", "DOUBLE"), "validation": 0.1}, "column 'n' is DOUBLE; a key is one of"),
        ({"validation_key": "metadata.host", "validation": 0.1}, "validation_key is 'metadata.host'"),
    ],
)
def test_what_holds_nothing_out_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Mix(name="blend", streams=(PAGES,), **options)  # type: ignore[arg-type]


def test_the_name_of_the_key_is_kept_and_a_revision_holds_nothing_out() -> None:
    with pytest.raises(RecipeError, match="this name is kept for the key of a mix"):
        Selection(columns=(Column("validation_key", "id", "VARCHAR"),))
    with pytest.raises(RecipeError, match="only a mix holds rows out"):
        Revision(version="v1", held_out=HeldOut(0.1, HOST))
