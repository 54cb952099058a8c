from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum
from uuid import UUID

import msgspec
from msgspec.structs import replace

from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Recipe, Shard
from gristmill.lake.rows.shard_file import Written
from gristmill.lake.store.protocol import ObjectVersion

RECIPE = Recipe("gopher-1", 1, {"a": 1, "b": [2]})


def test_a_recipes_digest_counts_what_changes_the_output_and_nothing_else() -> None:
    assert replace(RECIPE, draft=True).digest == RECIPE.digest
    assert replace(RECIPE, parameters={"b": [2], "a": 1}).digest == RECIPE.digest
    others = [
        replace(RECIPE, name="gopher-2"),
        replace(RECIPE, version=2),
        replace(RECIPE, parameters={"a": 1, "b": [3]}),
    ]
    assert len({RECIPE.digest, *(other.digest for other in others)}) == 4


def test_a_recipe_is_the_one_that_its_ledger_gives_back() -> None:
    recipe = Recipe("mix", 1, {"a": ("b", {"c": ("d",)}), "e": 2})
    assert recipe.parameters == {"a": ["b", {"c": ["d"]}], "e": 2}
    assert msgspec.json.decode(as_json(recipe), type=Recipe) == recipe


class Kind(Enum):
    """Not a string itself: JSON has its value."""

    NEWS = "news"


@dataclass(frozen=True)
class Range:
    """As a recipe's author may write two options."""

    last: int
    first: int = 0


def test_values_that_json_writes_as_words_are_words_in_recipe_and_digest() -> None:
    written = {
        "day": date(2020, 1, 1),
        "moment": datetime(2020, 1, 1, 1, 1, 1, 5, tzinfo=UTC),
        "clock": time(1, 2),
        "id": UUID(int=5),
        "kinds": (Kind.NEWS,),
        "range": Range(3),
    }
    recipe = Recipe("a-1", 1, written)
    assert recipe.parameters == {
        "day": "2020-01-01",
        "moment": "2020-01-01T01:01:01.000005+00:00",
        "clock": "01:02:00",
        "id": "00000000-0000-0000-0000-000000000005",
        "kinds": ["news"],
        "range": {"first": 0, "last": 3},
    }
    back = msgspec.json.decode(as_json(recipe), type=Recipe)
    assert back == recipe
    assert back.digest == recipe.digest == digest_of(["a-1", 1, written | {"range": {"first": 0, "last": 3}}])


VERSION = ObjectVersion(20, "e")


def test_a_row_of_the_table_has_all_that_was_written() -> None:
    written = Written(rows=3, bytes=20, length=30, sha256="s", content="c", members=[(0, 0), (9, 2)], version=VERSION)
    row = Shard.from_written("a", written, ids="i", recipe="r")
    assert (row.name, row.ids, row.recipe, row.inputs) == ("a", "i", "r", ())
    assert (row.rows, row.bytes, row.length, row.sha256, row.content) == (3, 20, 30, "s", "c")
    assert row.members == ((0, 0), (9, 2))
