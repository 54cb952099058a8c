"""The definitions over the recipes of tests/recipes/oldshelf alone: what is shipped may grow without them."""

from dataclasses import replace

import dagster as dg

from definitions import build
from gristmill.catalogue import read_catalogue
from resources.environment import Environment, read_environment

SHELVES = ("oldshelf",)


def environment() -> Environment:
    """What this process's environment says, without the shipped shelves."""
    return replace(read_environment(), shelves=SHELVES)


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return build(environment(), read_catalogue(SHELVES))
