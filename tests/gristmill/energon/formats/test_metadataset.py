"""Metadatasets: what a split is made of, and what is refused."""

import math
import re

import pytest
import yaml  # type: ignore[import-untyped]

from gristmill.energon.formats.metadataset import (
    Blend,
    DatasetReference,
    Epoch,
    compose_metadataset,
)
from gristmill.errors import RecipeError

TALES, FACTS = DatasetReference(path="tales"), DatasetReference(path="facts")


def test_a_split_for_each_kind() -> None:
    told = DatasetReference(
        path="msc://lake/told.jsonl",
        split_part="train",
        subflavors={"version": "12e4", "n": 3, "clean": True, "score": 0.5, "none": None},
        aux={"images": "images", "sounds": "filesystem://sounds"},
    )
    text = compose_metadataset({"train": Blend(((3, told), (0.5, TALES))), "once": Epoch(((2, told),)), "val": FACTS})
    leaf = {
        "path": "msc://lake/told.jsonl",
        "split_part": "train",
        "subflavors": {"version": "12e4", "n": 3, "clean": True, "score": 0.5, "none": None},
        "aux": {"images": "images", "sounds": "filesystem://sounds"},
    }
    assert yaml.safe_load(text) == {
        "__module__": "megatron.energon",
        "__class__": "MetadatasetV2",
        "splits": {
            "train": {"blend": [{"weight": 3, **leaf}, {"weight": 0.5, "path": "tales"}]},
            "once": {"blend_epochized": [{"repetitions": 2, **leaf}]},
            "val": {"path": "facts"},
        },
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [("tales", "./tales"), ("tales", "tales/"), ("a/../tales", "tales"), ("msc://lake/a", "msc://lake//a")],
)
@pytest.mark.parametrize("kind", [Blend, Epoch])
def test_the_same_dataset_twice_is_refused(kind: type[Blend], one: str, other: str) -> None:
    twice = kind(((1, DatasetReference(path=one)), (1, DatasetReference(path=other))))
    with pytest.raises(RecipeError, match="twice: Energon would draw the same samples twice"):
        compose_metadataset({"train": twice})


def test_two_splits_of_one_dataset_may_be_blended() -> None:
    both = Blend(tuple((1, DatasetReference(path="tales", split_part=part)) for part in ("train", "val")))
    assert compose_metadataset({"train": both}).count(b"tales") == 2


@pytest.mark.parametrize("share", [0, -1, math.nan, math.inf])
def test_a_share_is_a_number_above_zero(share: float) -> None:
    with pytest.raises(RecipeError, match=re.escape(f"'tales' has the share {share}; give a finite number above zero")):
        compose_metadataset({"train": Blend(((share, TALES),))})


def test_what_would_be_empty_is_refused() -> None:
    with pytest.raises(RecipeError, match="at least one split"):
        compose_metadataset({})
    with pytest.raises(RecipeError, match="'train' names no dataset; Energon cannot read an empty split"):
        compose_metadataset({"train": Blend(())})
    with pytest.raises(RecipeError, match="an empty path"):
        DatasetReference(path="")


@pytest.mark.parametrize("place", ["", "images.jsonl", "images.yaml"])
def test_a_file_is_no_source_of_media(place: str) -> None:
    with pytest.raises(RecipeError, match="media are in a prepared WebDataset, or in a folder"):
        DatasetReference(path="tales", aux={"images": place})
