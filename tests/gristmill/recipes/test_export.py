from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.export import Export, Oscar, format_of_parameters, format_parameters
from gristmill.recipes.export_formats.formats import known_formats


@pytest.mark.parametrize("mixes", [(), ("blend", "blend")])
def test_an_export_names_at_least_one_mix_and_each_once(mixes: tuple[str, ...]) -> None:
    with pytest.raises(RecipeError, match="name at least one mix, each once"):
        Export(name="release", mixes=mixes, format=Oscar())


def test_names_with_other_letters_are_refused() -> None:
    with pytest.raises(RecipeError, match="lower-case letters"):
        Export(name="The release", mixes=("blend",), format=Oscar())


@pytest.mark.parametrize("declared", ["energon", None, Oscar])
def test_a_format_that_no_stage_writes_is_refused_and_the_known_ones_are_told(declared: Any) -> None:
    with pytest.raises(RecipeError, match=r"give one of the known formats: .*Oscar\(\.\.\.\)"):
        Export(name="release", mixes=("blend",), format=declared)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": "24.01"}, "schema is '24.01'; give 22.01, 23.01"),
        ({"part_bytes": 0}, "part_bytes is 0; give at least 1"),
        ({"languages": "en"}, "languages is 'en'; give a tuple of strings, such as"),
    ],
)
def test_wrong_options_of_oscar_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Oscar(**options)


def test_a_format_comes_back_from_its_parameters() -> None:
    for kind in known_formats().values():
        assert format_of_parameters(format_parameters(kind(), release=True)) == kind()
    named = Oscar(languages=("en", "fr"), schema="23.01", part_bytes=7)
    assert format_of_parameters(format_parameters(named, release=True)) == named
    assert format_of_parameters(format_parameters(named)) == Oscar(languages=("en", "fr"), schema="23.01")
    for wrong, said in (
        ({"type": "energon"}, "no installed package adds 'energon' to gristmill.exports"),
        ({"type": "oscar", "shards": 7}, "no format of exports has the options .*; Oscar has schema, languages, part"),
        ({}, "no installed package adds 'None'"),
    ):
        with pytest.raises(RecipeError, match=said):
            format_of_parameters(wrong)
