"""Folders on the lake that belong to no recipe."""

from testkit import SHELVES, Mill

from gristmill.raw_data.unclaimed import unclaimed
from gristmill.recipes.catalogue import read_catalogue


def test_a_folder_without_a_recipe_is_told_with_the_near_names(mill: Mill) -> None:
    catalogue = read_catalogue(SHELVES)
    mill.raw_shards(1)
    assert list(unclaimed(mill.store, catalogue)) == []
    mill.store.put("sources/pagse/raw/2024/a.jsonl", b"")
    mill.store.put("mixes/evne/ledgers/x", b"")
    mill.store.put("token_caches/other/x", b"")
    words = list(unclaimed(mill.store, catalogue))
    assert words[0] == (
        "sources/pagse/ is on the lake, but no source 'pagse' is on the shelves (near: pages, packages), so nothing is"
        " made of it; rename the folder or the recipe, name its package with --shelves, or remove the folder"
    )
    assert [each.split(",")[0] for each in words[1:]] == [
        "mixes/evne/ is on the lake",
        "token_caches/other/ is on the lake",
    ]
    assert "(near: even)" in words[1]
    assert "near" not in words[2]


def test_of_many_only_some_are_named(mill: Mill) -> None:
    for number in range(9):
        mill.store.put(f"sources/x{number}/raw/2024/a", b"")
    words = list(unclaimed(mill.store, read_catalogue(SHELVES)))
    assert len(words) == 6
    assert words[-1] == "sources/: so are 4 more folders"
