"""Folders on the lake that belong to no recipe."""

import pytest
from testkit import SHELVES, Mill

from gristmill.__main__ import main
from gristmill.raw_data.unclaimed import remarks_beside_raw, remarks_on_unclaimed
from gristmill.recipes.catalogue import read_catalogue


def test_a_folder_without_a_recipe_is_told_with_the_near_names(mill: Mill) -> None:
    catalogue = read_catalogue(SHELVES)
    mill.raw_shards(1)
    assert list(remarks_on_unclaimed(mill.store, catalogue)) == []
    mill.store.put("sources/pagse/raw/2024/a.jsonl", b"")
    mill.store.put("mixes/evne/ledgers/x", b"")
    mill.store.put("token_caches/other/x", b"")
    words = list(remarks_on_unclaimed(mill.store, catalogue))
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
    words = list(remarks_on_unclaimed(mill.store, read_catalogue(SHELVES)))
    assert len(words) == 6
    assert words[-1] == "sources/: so are 4 more folders"


def beside(mill: Mill, source: str) -> list[str]:
    """The remarks, without their mends."""
    return [each.partition(":")[0] for each in remarks_beside_raw(mill.store, read_catalogue(SHELVES).sources[source])]


def test_what_lies_beside_the_raw_folder_of_a_source_is_told(mill: Mill) -> None:
    mill.store.put("sources/pages/v0/documents/2024/a.jsonl.gz", b"")
    assert beside(mill, "pages") == []
    mill.store.put("sources/pages/2024/a.jsonl", b"")
    mill.store.put("sources/notes/a.txt", b"")
    told = (
        *remarks_beside_raw(mill.store, mill.source()),
        *remarks_beside_raw(mill.store, read_catalogue(SHELVES).sources["notes"]),
    )
    assert sorted(told) == [
        f"{path} is read by nothing: raw data lie in {raw}; move it to {raw}{snapshot}/, or remove it"
        for path, raw, snapshot in (
            ("sources/notes/a.txt", "sources/notes/raw/", "SNAPSHOT"),
            ("sources/pages/2024/", "sources/pages/raw/", "2024"),
        )
    ]


def test_so_is_it_beside_a_raw_folder_with_data(mill: Mill) -> None:
    mill.raw_shards(1)
    for version in ("v0", "v1", "v7"):
        mill.store.put(f"sources/pages/{version}/ledgers/documents/2024.json", b"")
    assert beside(mill, "pages") == []
    for path in ("a.jsonl", "raw.jsonl", "v1.jsonl", "z.jsonl", "v2024/a.jsonl", "v8/2024/a.jsonl"):
        mill.store.put(f"sources/pages/{path}", b"")
    unread = ("v2024/", "v8/", "a.jsonl", "raw.jsonl", "v1.jsonl", "z.jsonl")
    assert beside(mill, "pages") == [f"sources/pages/{path} is read by nothing" for path in unread]
    for number in range(9):
        mill.store.put(f"sources/pages/z{number}.jsonl", b"")
    assert len(beside(mill, "pages")) == 2 + 5 + 1


def test_plan_and_make_name_it(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.store.put("sources/pages/raw/.keep", b"")
    mill.store.put("sources/pages/new.jsonl", b"")
    given = [str(mill.root), "pages", "--shelves", "testshelf"]
    for command in ("plan", "make"):
        assert main([command, *given]) == 2
        assert "sources/pages/new.jsonl is read by nothing" in capsys.readouterr().err
    mill.raw_shards(1)
    assert main(["plan", *given]) == 1  # there is something to make
    assert "note: sources/pages/new.jsonl is read by nothing" in capsys.readouterr().out
    main(["make", *given, "--engine", "inline"])
    assert "sources/pages/new.jsonl is read by nothing" in capsys.readouterr().out
