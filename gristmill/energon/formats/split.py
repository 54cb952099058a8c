"""The file `.nv-meta/split.yaml`: which shards are in which split, and what is left out.

Source: NVIDIA/Megatron-Energon 7.4.1, whose `prepare` gives the same splits and the same file.
"""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from gristmill.energon.formats.braces import collapse_names, expand_pattern, expand_patterns
from gristmill.errors import DataError, RecipeError
from gristmill.formats.yaml_text import read_yaml, usual_yaml_bytes

SPLIT_YAML: Final = "split.yaml"
"""The name of the file in `.nv-meta`."""
SPLIT_JSON: Final = "split.json"
"""The name that is read if `split.yaml` is absent."""

_SEED = 42


class SplitFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a split file.

    Attributes:
        split_parts: names of the shards of each split, with braces or without.
        exclude: shards, and samples as `shard/key`, that the loader leaves out; with braces or without.
    """

    split_parts: dict[str, list[str]]
    exclude: list[str] = []


def split_by_ratio(
    shards: Sequence[str], ratios: Mapping[str, float], *, shuffle: bool = False
) -> dict[str, list[str]]:
    """The shards of each split, cut by ratio as the real tool does it.

    It rounds down, so with few shards a split may have none; the last shard may be in no split at all. Look at
    `without_split` and at the lengths.

    Args:
        shards: all of them, in order.
        ratios: ratio of each split; 0 or more, one of them above 0.
        shuffle: whether they are shuffled first, always in the same way.

    Raises:
        RecipeError: the ratios are not valid.

    >>> split_by_ratio(["0.tar", "1.tar", "2.tar", "3.tar"], {"train": 3, "val": 1})
    {'train': ['0.tar', '1.tar', '2.tar'], 'val': ['3.tar']}
    """
    total = sum(ratios.values())
    if not 0 < total < float("inf") or any(ratio < 0 for ratio in ratios.values()):
        raise RecipeError(f"splits {dict(ratios)}: give ratios of 0 or more, one of them above 0")
    order = list(shards)
    if shuffle:
        random.Random(_SEED).shuffle(order)  # noqa: S311 - the same order as the real tool's, no secret
    splits: dict[str, list[str]] = {}
    start, reached = 0, 0.0
    for name, ratio in ratios.items():
        reached += ratio / total
        end = int(len(order) * reached)
        splits[name] = order[start:end]
        start = end
    return splits


def split_by_pattern(shards: Sequence[str], patterns: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The shards of each split: those whose name begins with a regular expression, after its braces are expanded.

    Args:
        shards: all of them, in order.
        patterns: name of a split and its pattern; of the same name the last one counts.

    Raises:
        RecipeError: a pattern is not a regular expression, or its braces are not closed.

    >>> split_by_pattern(["train/0.tar", "val/0.tar"], [("train", "train/.*"), ("val", "val/.*")])
    {'train': ['train/0.tar'], 'val': ['val/0.tar']}
    """
    splits: dict[str, list[str]] = {}
    for name, pattern in patterns:
        try:
            regexes = [re.compile(each) for each in expand_pattern(pattern)]
        except (re.error, DataError) as error:
            raise RecipeError(f"split {name!r}: {pattern!r} is not a pattern of shards: {error}") from error
        splits[name] = [shard for shard in shards if any(regex.match(shard) for regex in regexes)]
    return splits


def shards_without_split(shards: Sequence[str], splits: Mapping[str, Sequence[str]]) -> list[str]:
    """The shards that are in no split, in order.

    Args:
        shards: all of them.
        splits: shards of each split.

    >>> shards_without_split(["0.tar", "1.tar"], {"train": ["0.tar"]})
    ['1.tar']
    """
    held = {shard for split in splits.values() for shard in split}
    return [shard for shard in shards if shard not in held]


def split_bytes(splits: Mapping[str, Sequence[str]], exclude: Sequence[str] = ()) -> bytes:
    """The file, as the real tool writes it: runs of shards as ranges.

    Args:
        splits: shards of each split.
        exclude: shards, and samples as `shard/key`.

    >>> print(split_bytes({"train": ["0.tar", "1.tar"], "val": []}).decode(), end="")
    split_parts:
      train:
      - '{0..1}.tar'
      val: []
    exclude: []
    """
    value = {"split_parts": {name: collapse_names(shards) for name, shards in splits.items()}, "exclude": list(exclude)}
    return usual_yaml_bytes(value)


def read_split(data: bytes, where: str) -> SplitFile:
    """The content of a split file, its names without braces.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: it is wrong, or has a field that energon refuses.

    >>> read_split(b"split_parts: {train: ['{0..1}.tar']}", "split.yaml")
    SplitFile(split_parts={'train': ['0.tar', '1.tar']}, exclude=[])
    """
    value: dict[str, Any] = read_yaml(data, where)
    try:
        split = msgspec.convert(value, SplitFile)
        return SplitFile(
            {name: expand_patterns(shards) for name, shards in split.split_parts.items()},
            expand_patterns(split.exclude),
        )
    except (msgspec.ValidationError, DataError) as error:
        raise DataError(f"{where}: not a valid split file: {error}; mend it") from error
