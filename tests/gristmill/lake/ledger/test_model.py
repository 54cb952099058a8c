import msgspec
from msgspec.structs import replace

from gristmill.lake.ledger.files import dump
from gristmill.lake.ledger.model import Quarantine, Recipe, Shard
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
    assert msgspec.json.decode(dump(recipe), type=Recipe) == recipe


VERSION = ObjectVersion(20, "e")


def test_a_row_of_the_table_has_its_counters_sorted_and_all_that_was_written() -> None:
    written = Written(rows=3, bytes=20, length=30, sha256="s", content="c", members=[(0, 0), (9, 2)], version=VERSION)
    refused = Quarantine(1, 2, "q")
    row = Shard.of(
        "a",
        written,
        ids="i",
        recipe="r",
        inputs=(),
        dropped={"z": 1, "b": 2},
        counts={"y": 3, "x": 4},
        quarantine=refused,
    )
    assert (row.rows, row.bytes, row.length, row.sha256, row.content) == (3, 20, 30, "s", "c")
    assert row.members == ((0, 0), (9, 2))
    assert (list(row.dropped.items()), list(row.counts.items())) == ([("b", 2), ("z", 1)], [("x", 4), ("y", 3)])
    assert row.quarantine == refused
