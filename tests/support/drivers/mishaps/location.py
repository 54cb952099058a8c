"""The definitions over the recipes of tests/support/shelves/dagshelf alone, for code servers."""

from dataclasses import replace

import dagster as dg
from dagster_kit import SHELVES

from definitions import build
from gristmill.environment import read_environment
from gristmill.recipes.catalogue import read_catalogue


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads."""
    return build(replace(read_environment(), shelves=SHELVES), read_catalogue(SHELVES))
