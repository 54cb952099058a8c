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


def test_what_lies_beside_the_raw_folder_of_a_source_is_told(mill: Mill) -> None:
    catalogue = read_catalogue(SHELVES)
    mill.store.put("sources/pages/v0/documents/2024/a.jsonl.gz", b"")
    assert list(unclaimed(mill.store, catalogue)) == []
    mill.store.put("sources/pages/2024/a.jsonl", b"")
    mill.store.put("sources/notes/a.txt", b"")
    assert sorted(unclaimed(mill.store, catalogue)) == [
        f"{path} is read by nothing: raw data lie in {raw}; move it to {raw}{snapshot}/, or remove it"
        for path, raw, snapshot in (
            ("sources/notes/a.txt", "sources/notes/raw/", "SNAPSHOT"),
            ("sources/pages/2024/", "sources/pages/raw/", "2024"),
        )
    ]
