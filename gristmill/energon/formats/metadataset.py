"""Energon's metadatasets: a YAML file that says which datasets make a split, and how much of each.

Source: megatron-energon 7.4.1, `metadataset/metadataset_v2.py`. A split is one dataset, a blend by weights, or a blend
by repetitions. Energon never mixes both kinds of blend, and takes paths relative to the file.
"""

import math
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gristmill.errors import RecipeError
from gristmill.formats.yaml_text import yaml_bytes

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class DatasetReference:
    """A dataset that a metadataset names.

    Attributes:
        path: a dataset's folder, a `.jsonl` file or another metadataset (`.yaml`), relative to the file, or an address
            such as `msc://profile/folder`.
        split_part: the split to read there; empty: the one that is being built. JSONL has only one, and ignores this.
        subflavors: facts that every sample carries. Those of an outer metadataset win. Versions belong in strings.
        aux: names of sources of media, and where they are: a prepared WebDataset, or a folder of files as
            `filesystem://folder`.

    >>> DatasetReference(path="tales.yaml", aux={"media": "images"})
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: 'tales.yaml' is a metadataset: name its media there, for Energon refuses them here
    """

    path: str
    split_part: str = ""
    subflavors: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    aux: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks what Energon would refuse.

        Raises:
            RecipeError: the path is empty, a metadataset names media, or a source of media is a file.
        """
        if not self.path:
            raise RecipeError("a metadataset names a dataset with an empty path")
        if self.aux and self.path.endswith(".yaml"):
            raise RecipeError(f"{self.path!r} is a metadataset: name its media there, for Energon refuses them here")
        for name, place in self.aux.items():
            if not place or place.endswith((".jsonl", ".yaml")):
                raise RecipeError(
                    f"{self.path!r} has media {name!r} in {place!r}: media are in a prepared WebDataset, or in a "
                    "folder as filesystem://folder"
                )

    @property
    def path_and_split(self) -> tuple[str, str]:
        """The path, however it was spelled, and the split. Two references with the same ones have the same samples."""
        found = _URL.match(self.path)
        start = found.end() if found else 0
        return self.path[:start] + posixpath.normpath(self.path[start:]), self.split_part

    def entry(self) -> dict[str, object]:
        """The mapping that YAML has; what is empty is left out."""
        values = {
            "path": self.path,
            "split_part": self.split_part,
            "subflavors": dict(self.subflavors),
            "aux": dict(self.aux),
        }
        return {name: value for name, value in values.items() if value}


@dataclass(frozen=True)
class Blend:
    """Datasets drawn by weight. Training goes on for ever; Energon divides the weights by their sum.

    Attributes:
        members: the weight of each dataset, and the dataset.
    """

    members: tuple[tuple[float, DatasetReference], ...]

    def entry(self) -> dict[str, object]:
        """The mapping that YAML has."""
        return {"blend": [{"weight": weight, **each.entry()} for weight, each in self.members]}


@dataclass(frozen=True)
class Epoch:
    """Datasets that are read so many times in one epoch.

    Attributes:
        members: the repetitions of each dataset, 0.5 for half of its samples, and the dataset.
    """

    members: tuple[tuple[float, DatasetReference], ...]

    def entry(self) -> dict[str, object]:
        """The mapping that YAML has."""
        return {"blend_epochized": [{"repetitions": times, **each.entry()} for times, each in self.members]}


def compose_metadataset(splits: Mapping[str, DatasetReference | Blend | Epoch]) -> bytes:
    """The file of a metadataset.

    Args:
        splits: parts of each split, by its name, such as `train` and `val`.

    Raises:
        RecipeError: there is no split; a blend is empty, or has a share that is not a finite number above zero; or a
            split has the same dataset twice, which would give the same samples in the same order twice.

    >>> tales = DatasetReference(path="tales", subflavors={"version": "12e4"})
    >>> splits = {"train": Blend(((3, tales),)), "val": DatasetReference(path="tales")}
    >>> print(compose_metadataset(splits).decode(), end="")
    __module__: "megatron.energon"
    __class__: "MetadatasetV2"
    splits:
      train:
        blend:
          - weight: 3
            path: "tales"
            subflavors:
              version: "12e4"
      val:
        path: "tales"
    >>> compose_metadataset({"train": Blend(((3, tales), (1, DatasetReference(path="./tales"))))})
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: split 'train' names 'tales' twice: Energon would draw the same samples twice
    """
    if not splits:
        raise RecipeError("a metadataset needs at least one split")
    for name, split in splits.items():
        if not isinstance(split, DatasetReference):
            _check_split_name(name, split)
    entries = {name: split.entry() for name, split in splits.items()}
    kind = {"__module__": "megatron.energon", "__class__": "MetadatasetV2"}
    return yaml_bytes({**kind, "splits": entries})


def _check_split_name(name: str, split: Blend | Epoch) -> None:
    if not split.members:
        raise RecipeError(f"split {name!r} names no dataset; Energon cannot read an empty split: leave it out")
    seen = set[tuple[str, str]]()
    for share, each in split.members:
        if not math.isfinite(share) or share <= 0:
            raise RecipeError(f"split {name!r}: {each.path!r} has the share {share}; give a finite number above zero")
        if each.path_and_split in seen:
            raise RecipeError(
                f"split {name!r} names {each.path_and_split[0]!r} twice: Energon would draw the same samples twice"
            )
        seen.add(each.path_and_split)
