"""A mix that a command names, with what its sources declare where its rules read it."""

from collections.abc import Sequence

from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import find_recipe


def find_mix_for_command(shelves: Sequence[str], name: str) -> Mix:
    """The mix of this name. The other recipes are read only if a rule needs them.

    Args:
        shelves: the packages that hold the recipes.
        name: name of the mix.

    Raises:
        RecipeError: there is no such mix, or a recipe is wrong.
    """
    mix = find_recipe("mixes", Mix, shelves, name)
    if any(column.is_origin for stream in mix.streams for column in stream.columns):
        return read_catalogue(tuple(shelves)).mixes[name]
    return mix
