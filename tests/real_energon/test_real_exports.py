"""Real Energon loads what the whole platform made of drawn pictures and their captions, from raw to each export."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from energonsets import tensor
from peer import Ask
from picturelake import COUNT, caption, colors, make, name
from seaweed import Seaweed

from gristmill import api

pytestmark = pytest.mark.slow

Samples = list[dict[str, Any]]


class Lake(NamedTuple):
    """A lake with all exports, the address by which Energon knows it, and the client to ask."""

    address: str
    ask: Ask


@pytest.fixture(scope="module")
def folder(energon: Ask, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    place = tmp_path_factory.mktemp("pictures")
    (place / "lake").mkdir()
    make(api.open_lake(str(place / "lake")), place)
    return Lake(str(place / "lake"), energon)


@pytest.fixture(scope="module")
def bucket(energon_on_s3: Ask, seaweed: Seaweed, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    make(api.open_lake(seaweed.url("pictures"), seaweed.options), tmp_path_factory.mktemp("pictures"))
    return Lake("msc://lake/pictures", energon_on_s3)


@pytest.fixture(params=["folder", "bucket"])
def lake(request: pytest.FixtureRequest) -> Lake:
    found: Lake = request.getfixturevalue(request.param)
    return found


def read(lake: Lake, export: str, cooker: str = "") -> tuple[Samples, Samples]:
    """The samples of `train` and `val`: in order, the same as when they are restored and as when they are drawn."""
    path = f"{lake.address}/exports/pictures/{export}/index/metadataset.yaml"
    job = {"do": "load", "path": path, "cooker": cooker}
    train, val, drawn = lake.ask(job, {**job, "split": "val"}, {**job, "training": True})
    for each in (train, val, drawn):
        assert "error" not in each, each["error"]
        assert each["restored"] == each["samples"][::-1]
    assert sorted(map(str, drawn["samples"])) == sorted(map(str, train["samples"]))
    return train["samples"], val["samples"]


def check(splits: tuple[Samples, Samples], expected: Callable[[int], dict[str, Any]], text: Callable[..., str]) -> None:
    """Each picture is in one of the splits, once, with every element as it was drawn."""
    train, val = splits
    assert train
    assert val
    assert len(train) + len(val) == COUNT
    found = {text(sample): {**sample, "__key__": ""} for sample in (*train, *val)}
    assert found == {caption(n): {"__key__": "", **expected(n)} for n in range(COUNT)}


def test_images_and_captions_in_one_dataset(lake: Lake) -> None:
    splits = read(lake, "whole")
    words = {"stream": "shapes", "version": "12e4"}

    def expected(n: int) -> dict[str, Any]:
        return {"__subflavors__": words, "image": tensor(*colors(n)), "caption": caption(n)}

    check(splits, expected, lambda sample: str(sample["caption"]))


def test_crude_samples_whose_images_are_named(lake: Lake) -> None:
    def expected(n: int) -> dict[str, Any]:
        parts = {"txt": caption(n), "json": {"image": name(n)}}
        return {"__subflavors__": {"stream": "shapes"}, "parts": parts, "media": []}

    splits = read(lake, "crude", "everything")
    check(splits, expected, lambda sample: str(sample["parts"]["txt"]))
    assert {sample["__key__"] for split in splits for sample in split} == {f"shape-{n:02}" for n in range(COUNT)}


@pytest.mark.parametrize("export", ["lines", "tars"])
def test_json_lines_with_images_in_files_and_in_tars(lake: Lake, export: str) -> None:
    def expected(n: int) -> dict[str, Any]:
        parts = {"json": {"caption": caption(n), "image": name(n)}}
        return {"__subflavors__": {"stream": "shapes"}, "parts": parts, "media": [tensor(*colors(n))]}

    check(read(lake, export, "with_media"), expected, lambda sample: str(sample["parts"]["json"]["caption"]))
