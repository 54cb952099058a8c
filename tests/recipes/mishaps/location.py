"""The definitions over the recipes of tests/recipes/dagshelf alone, for code servers."""

from dataclasses import replace

import dagster as dg
from dagster_kit import SHELVES

from definitions import build
from gristmill.catalogue import read_catalogue
from gristmill.environment import read_environment


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return build(replace(read_environment(), shelves=SHELVES), read_catalogue(SHELVES))
