"""The definitions over the recipes of tests/support/shelves/oldshelf alone: what is shipped may grow without them."""

from dataclasses import replace

import dagster as dg

from definitions import build
from gristmill.environment import Environment, read_environment
from gristmill.recipes.catalogue import read_catalogue

SHELVES = ("oldshelf",)


def environment() -> Environment:
    """What this process's environment says, without the shipped shelves."""
    return replace(read_environment(), shelves=SHELVES)


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return build(environment(), read_catalogue(SHELVES))
