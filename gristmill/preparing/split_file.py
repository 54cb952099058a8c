"""Compares a `split.yaml` with the shards of its dataset."""

from collections.abc import Collection, Iterator, Mapping

from gristmill.formats.energon.split import SplitFile, without_split
from gristmill.preparing.flaw import Flaw

_EDIT = "edit the file, or prepare the dataset again"


def split_file_flaws(path: str, split: SplitFile, counts: Mapping[str, int], splits: Collection[str]) -> Iterator[Flaw]:
    """What is wrong with a split file.

    Args:
        path: of the file, for messages.
        split: its content.
        counts: samples of each shard of the dataset.
        splits: that must have a shard, if the file names them.
    """
    excluded = set(split.exclude)
    for name, shards in split.split_parts.items():
        for shard in shards:
            if shard not in counts:
                yield Flaw(path, f"split {name!r} names {shard!r}, which is no shard of the dataset", _EDIT)
        if len(set(shards)) < len(shards):
            yield Flaw(path, f"split {name!r} names a shard twice: its samples come twice", _EDIT, warning=True)
        if name in splits and not set(shards) - excluded:
            yield Flaw(path, f"split {name!r} is empty", _EDIT, warning=name != "train")
    for shard in without_split(list(counts), split.split_parts):
        if shard not in excluded:
            yield Flaw(path, f"shard {shard!r} is in no split", f"{_EDIT}; or exclude it", warning=True)
    yield from _shared(path, split)
    for entry in split.exclude:
        if not any(entry == shard or entry.startswith(f"{shard}/") for shard in counts):
            yield Flaw(path, f"it excludes {entry!r}, which is no shard and no sample of one", _EDIT)


def _shared(path: str, split: SplitFile) -> Iterator[Flaw]:
    places: dict[str, str] = {}
    for name, shards in split.split_parts.items():
        for shard in shards:
            if places.setdefault(shard, name) != name:
                what = f"shard {shard!r} is in split {places[shard]!r} and in {name!r}"
                yield Flaw(path, what, _EDIT, warning=True)
