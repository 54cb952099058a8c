"""Going on with a listing behind an object, on a folder and on two S3 servers, one of which lists in folder order."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from seaweed import Seaweed

from gristmill.lake.store.protocol import Store

NAMES = ("a", "a-b", "a.b", "b", "a0", "b c", "é", "x=1", "a%20b", "a+b", "~z", "#h")


def grow(store: Store, top: str, seed: int, *, twice: bool = False) -> list[str]:
    """Forty objects in up to three folders each; what the store lists. `twice`: some have the name of a folder."""
    dice = random.Random(seed)
    names = {"/".join(dice.choice(NAMES) for _ in range(dice.randint(1, 3))) for _ in range(40)}
    for name in sorted(names):
        if twice or not any(other.startswith(f"{name}/") for other in names):
            store.put(f"{top}{name}", b"1")
    return listed(store, top)


def listed(store: Store, top: str, after: str = "") -> list[str]:
    return [entry.path for entry in store.list(top, after)]


@pytest.mark.slow
@pytest.mark.parametrize("top", ["", "top/"])
def test_a_listing_goes_on_behind_any_object_in_the_stores_own_order(store: Store, top: str) -> None:
    whole = grow(store, top, seed=1)
    assert len(whole) > 20
    for number, path in enumerate(whole):
        assert listed(store, top, path) == whole[number + 1 :]


def test_it_goes_on_behind_an_object_that_is_gone(store: Store) -> None:
    for name in ("a/1", "a/2", "b/1", "b/2"):
        store.put(name, b"1")
    store.delete(["a/2"])
    assert listed(store, "", "a/2") == ["b/1", "b/2"]
    store.delete(["a/1"])
    assert listed(store, "", "a/2") == ["b/1", "b/2"]


@pytest.mark.parametrize("store", ["folder", pytest.param("moto", marks=pytest.mark.slow), "seaweed"], indirect=True)
def test_it_goes_on_in_another_page(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put(f"many/{number:04d}", b"1"), range(1002)))
    assert listed(store, "many/", "many/0000") == [f"many/{number:04d}" for number in range(1, 1002)]
    assert listed(store, "many/", "many/0999") == ["many/1000", "many/1001"]


def test_seaweed_goes_on_in_its_own_order(seaweed: Seaweed, tmp_path: Path) -> None:
    store = seaweed.store(tmp_path.name)
    whole = grow(store, "", seed=2)
    assert whole != sorted(whole, key=str.encode)  # folder by folder, not by bytes
    for number, path in enumerate(whole):
        assert listed(store, "", path) == whole[number + 1 :]


@pytest.mark.parametrize("seed", [3, 4])
def test_where_seaweed_goes_on_wrongly_the_next_object_tells(seaweed: Seaweed, tmp_path: Path, seed: int) -> None:
    """Objects that have the name of a folder confuse it; whoever knows which object comes next notices."""
    store = seaweed.store(tmp_path.name)
    whole = grow(store, "", seed, twice=True)
    wrong = 0
    for number, path in enumerate(whole[:-1]):
        rest = listed(store, "", path)
        if rest != whole[number + 1 :]:
            assert rest[:1] != [whole[number + 1]]
            wrong += 1
    assert wrong  # should it ever be 0, docs/internals/decisions.md is out of date


def test_folders_are_named_without_looking_into_them(store: Store) -> None:
    for name in ("a/1", "a/b/2", "c d/e/3", "f"):
        store.put(name, b"1")
    assert list(store.folders("")) == ["a/", "c d/"]
    assert list(store.folders("a/")) == ["a/b/"]
    assert list(store.folders("a/b/")) == []
    assert list(store.folders("nowhere/")) == []
