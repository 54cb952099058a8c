"""Field maps: their form, their check against a type, and the values that they find."""

import pytest

from gristmill.energon.formats.field_map import check_field_map, look_up_field, parse_places
from gristmill.energon.formats.sample_types import sample_type
from gristmill.errors import DataError, RecipeError

SAMPLE = {"txt": "a caption", "json": {"captions": ["one", "two"], "deep": [{"er": 3}], "text": "words"}}


@pytest.mark.parametrize("text", ["txt", "json[caption]", "jpg,png", "json[a][0],txt", "detail.json[a b]"])
def test_a_place_is_spelled_as_it_was_read(text: str) -> None:
    assert ",".join(place.text() for place in parse_places(text)) == text


@pytest.mark.parametrize("text", ["", "json[", "json[]", "json]a[", "json[a]b", "[a]", "jpg,", ",jpg", "json[a[b]]"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="is no place in a sample"):
        parse_places(text)


@pytest.mark.parametrize(
    ("places", "value"),
    [
        ("txt", "a caption"),
        ("jpg,txt", "a caption"),
        ("json[captions][1]", "two"),
        ("json[captions][2],json[deep][0][er]", 3),
        ("json[captions][one],json[text]", "words"),
        ("txt[0],json[text]", "words"),
    ],
)
def test_the_first_place_that_a_sample_has_is_taken(places: str, value: object) -> None:
    assert look_up_field(SAMPLE, parse_places(places)) == value


def test_a_value_that_is_in_no_place_is_named() -> None:
    with pytest.raises(DataError, match=r"the sample has no jpg and no json\[image\]"):
        look_up_field(SAMPLE, parse_places("jpg,json[image]"))


def test_a_field_map_of_each_type_is_checked() -> None:
    vqa = sample_type("VQASample")
    good = {"image": "jpg,png", "context": "json[question]", "answers": "json[answers]"}
    check_field_map(vqa, good)
    with pytest.raises(RecipeError, match="has no context, which every sample needs"):
        check_field_map(vqa, {"image": "jpg"})
    with pytest.raises(RecipeError, match="VQASample has no field 'answer'; did you mean 'answers'"):
        check_field_map(vqa, good | {"answer": "txt"})
    with pytest.raises(RecipeError, match="is no place"):
        check_field_map(vqa, good | {"context": "json["})


def test_lists_of_media_are_refused() -> None:
    with pytest.raises(RecipeError, match="InterleavedSample has a list of media, which no field map can make"):
        check_field_map(sample_type("InterleavedSample"), {"sequence": "json"})
