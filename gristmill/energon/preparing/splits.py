"""The splits that a preparation asks for, and what is wrong with them."""

import math
from collections.abc import Iterator, Mapping, Sequence

from gristmill.energon.formats.split import shards_without_split, split_by_pattern, split_by_ratio
from gristmill.energon.preparing.dataset import meta_path
from gristmill.energon.preparing.flaw import Flaw
from gristmill.errors import RecipeError

_NAMES = ("train", "val", "test")
MOST_SHARDS = 10_000
"""The format's specification advises against more."""
_NAMED = 5


def parse_split_ratio(text: str) -> dict[str, float]:
    """The ratios of `--split-ratio`, for train, val and test.

    Args:
        text: three numbers, such as `8,1,1`.

    Raises:
        RecipeError: these are no three numbers of 0 or more, one of them above 0.

    >>> parse_split_ratio("0.8, 0.1, 0.1")
    {'train': 0.8, 'val': 0.1, 'test': 0.1}
    """
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(_NAMES) or not all(math.isfinite(n) and n >= 0 for n in numbers) or not sum(numbers):
        raise RecipeError(f"--split-ratio {text!r}: give the shares of train, val and test, such as 8,1,1")
    return dict(zip(_NAMES, numbers, strict=True))


def parse_split_parts(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The splits of `--split-parts`, each with its pattern.

    Args:
        texts: such as `train:shards/train_.*`.

    Raises:
        RecipeError: one has no name or no pattern, or two have the same name.

    >>> parse_split_parts(["val:shards/val/.*"])
    [('val', 'shards/val/.*')]
    """
    patterns: list[tuple[str, str]] = []
    for text in texts:
        name, _, pattern = text.partition(":")
        if not name or not pattern:
            raise RecipeError(f"--split-parts {text!r}: give NAME:PATTERN, such as 'train:shards/train_.*'")
        if name in dict(patterns):
            raise RecipeError(f"--split-parts: {name} is given twice; write its patterns as one, {name}:a.*|b.*")
        patterns.append((name, pattern))
    return patterns


def make_splits(
    shards: Sequence[str], ratio: Mapping[str, float], patterns: Sequence[tuple[str, str]], *, shuffle: bool
) -> tuple[dict[str, list[str]], list[Flaw]]:
    """The shards of each split, as the real tool gives them, and what is wrong with them.

    Args:
        shards: all of them, in order.
        ratio: ratio of each split; not used if there are patterns.
        patterns: name of a split and its regular expression.
        shuffle: whether the shards are shuffled before a split by ratio.

    Raises:
        RecipeError: a pattern or the ratio is wrong.
    """
    if patterns:
        splits = split_by_pattern(shards, patterns)
        asked = {name for name, _ in patterns}
    else:
        splits = split_by_ratio(shards, ratio, shuffle=shuffle)
        asked = {name for name, share in ratio.items() if share}
    return splits, list(_split_flaws(shards, splits, asked, dict(patterns)))


def _split_flaws(
    shards: Sequence[str], splits: Mapping[str, Sequence[str]], asked: set[str], patterns: Mapping[str, str]
) -> Iterator[Flaw]:
    path = meta_path("split.yaml")
    yield from _empty_split_flaws(shards, splits, asked, patterns)
    left = shards_without_split(shards, splits)
    another = (
        "another pattern" if patterns else "the shares as fractions, such as 0.7,0.2,0.1 for 7,2,1 (it is rounding)"
    )
    for shard in left[:_NAMED]:
        yield Flaw(shard, "it is in no split", f"give {another}, or leave it out: --exclude")
    if len(left) > _NAMED:
        yield Flaw(path, f"{len(left) - _NAMED:,} more shards are in no split", "as above")
    places: dict[str, str] = {}
    for name, names in splits.items():
        for shard in names:
            if places.setdefault(shard, name) != name:
                yield Flaw(shard, f"it is in split {places[shard]!r} and in {name!r}", "make the patterns exclusive")
    if len(shards) > MOST_SHARDS:
        what = f"{len(shards):,} shards; the specification advises at most {MOST_SHARDS:,}"
        yield Flaw(path, what, "write larger shards", warning=True)


def _empty_split_flaws(
    shards: Sequence[str], splits: Mapping[str, Sequence[str]], asked: set[str], patterns: Mapping[str, str]
) -> Iterator[Flaw]:
    path = meta_path("split.yaml")
    for name in splits:
        if splits[name] or name not in asked:
            continue
        if name in patterns:
            mend = "the pattern is a regular expression from the path's beginning: `.*` in place of `*`"
            if "{" in patterns[name]:
                mend += "; braces are lists, such as {0..9}: write a repetition out"
            yield Flaw(path, f"no shard is in split {name!r}: none begins with {patterns[name]!r}", mend)
        else:
            what = f"split {name!r} is empty: {len(shards)} shards are too few for this ratio"
            mend = "give another ratio, such as 1,0,0, or write more and smaller shards"
            yield Flaw(path, what, mend, warning=name != "train")
    if "train" not in asked and not splits.get("train"):
        yield Flaw(path, "split 'train' is empty, as asked", "it cannot be trained on", warning=True)
