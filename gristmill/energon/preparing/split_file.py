"""Compares a `split.yaml` with the shards and the samples of its dataset."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from gristmill.energon.formats.split import SPLIT_JSON, SPLIT_YAML, SplitFile, shards_without_split
from gristmill.energon.formats.sqlite_index import missing_samples
from gristmill.energon.preparing.dataset import meta_path
from gristmill.energon.preparing.files import read_optional
from gristmill.energon.preparing.flaw import Flaw
from gristmill.lake.store.protocol import Store

_EDIT = "edit the file, or prepare the dataset again"
_NAMED = 5


def find_split(store: Store, name: str) -> tuple[str, bytes | None]:
    """The split file of a dataset. Without a `split.yaml`, the loader takes `split.json`.

    Args:
        store: store of the dataset.
        name: name of the file.

    Returns:
        The path and the bytes of the file; None for the bytes if there is no such file.
    """
    path = meta_path(name)
    data = read_optional(store, path)
    if data is None and name == SPLIT_YAML:
        path = meta_path(SPLIT_JSON)
        data = read_optional(store, path)
    return path, data


def split_file_flaws(path: str, split: SplitFile, counts: Mapping[str, int], splits: Collection[str]) -> Iterator[Flaw]:
    """The flaws of a split file.

    Args:
        path: path of the file, for messages.
        split: its content.
        counts: samples of each shard of the dataset.
        splits: names of splits that must have a shard, if the file names them.
    """
    excluded = set(split.exclude)
    if "train" not in split.split_parts:
        names = ", ".join(map(repr, split.split_parts)) or "no split"
        yield Flaw(path, f"it has no split 'train', but {names}: the loader trains on 'train'", _EDIT, warning=True)
    for name, shards in split.split_parts.items():
        for shard in shards:
            if shard not in counts:
                yield Flaw(path, f"split {name!r} names {shard!r}, which is no shard of the dataset", _EDIT)
        if len(set(shards)) < len(shards):
            yield Flaw(path, f"split {name!r} names a shard twice: its samples come twice", _EDIT, warning=True)
        if shards and not set(shards) - excluded:
            yield Flaw(path, f"all shards of split {name!r} are excluded", _EDIT, warning=name != "train")
        elif name in splits and not shards:
            yield Flaw(path, f"split {name!r} is empty", _EDIT, warning=name != "train")
    for shard in shards_without_split(list(counts), split.split_parts):
        if shard not in excluded:
            yield Flaw(path, f"shard {shard!r} is in no split", f"{_EDIT}; or exclude it", warning=True)
    yield from _shared_shard_flaws(path, split)
    yield from _exclude_flaws(path, split, counts)


def _exclude_flaws(path: str, split: SplitFile, counts: Mapping[str, int]) -> Iterator[Flaw]:
    for entry in split.exclude:
        if entry not in counts and not excluded_sample(entry, counts)[0]:
            what = f"it excludes {entry!r}, which is no shard and no sample of one: nothing is excluded"
            yield Flaw(path, what, _EDIT, warning=True)


def sample_flaws(path: str, split: SplitFile, counts: Mapping[str, int], index: Path) -> Iterator[Flaw]:
    """The flaws of excluded samples that are in no shard, and of splits whose samples are all excluded.

    Args:
        path: path of the file, for messages.
        split: its content.
        counts: samples of each shard, in the order of their ids.
        index: path of the index of the shards.
    """
    ids = {shard: number for number, shard in enumerate(counts)}
    shards = list(counts)
    asked = dict.fromkeys(found for entry in split.exclude if (found := excluded_sample(entry, counts))[0])
    missing = dict.fromkeys(missing_samples(index, [(ids[shard], key) for shard, key in asked]))
    for number, key in list(missing)[:_NAMED]:
        what = f"it excludes {shards[number] + '/' + key!r}, but the shard has no such sample: nothing is excluded"
        yield Flaw(path, what, _EDIT, warning=True)
    if len(missing) > _NAMED:
        yield Flaw(path, f"{len(missing) - _NAMED:,} more excluded samples are in no shard", _EDIT, warning=True)
    left_out = Counter(shard for shard, key in asked if (ids[shard], key) not in missing)
    excluded = set(split.exclude)
    for name, names in split.split_parts.items():
        used = [shard for shard in names if shard not in excluded and shard in counts]
        if used and all(left_out[shard] == counts[shard] for shard in used):
            yield Flaw(path, f"all samples of split {name!r} are excluded", _EDIT, warning=name != "train")


def excluded_sample(entry: str, counts: Mapping[str, int]) -> tuple[str, str]:
    """The shard and the key of an excluded sample; both empty if it is that of no shard.

    Args:
        entry: name of the excluded sample.
        counts: samples of each shard.

    >>> excluded_sample("a/0.tar/tom/1", {"a/0.tar": 3}), excluded_sample("0.tar", {"0.tar": 3})
    (('a/0.tar', 'tom/1'), ('', ''))
    """
    at = entry.rfind("/")
    while at > 0:
        if entry[:at] in counts:
            return entry[:at], entry[at + 1 :]
        at = entry.rfind("/", 0, at)
    return "", ""


def read_samples(split: SplitFile, part: str, counts: Mapping[str, int]) -> int:
    """The number of samples that a loader reads of a split: without the excluded ones.

    Args:
        split: the split file.
        part: name of the split.
        counts: samples of each shard.
    """
    used = set(split.split_parts.get(part, ())) - set(split.exclude)
    left_out = [entry for entry in set(split.exclude) if excluded_sample(entry, counts)[0] in used]
    return sum(counts.get(shard, 0) for shard in used) - len(left_out)


def _shared_shard_flaws(path: str, split: SplitFile) -> Iterator[Flaw]:
    places: dict[str, str] = {}
    for name, shards in split.split_parts.items():
        for shard in shards:
            first = places.setdefault(shard, name)
            if first != name and not name.startswith(f"{first}-"):  # `train-tales` is a part of `train`
                what = f"shard {shard!r} is in split {places[shard]!r} and in {name!r}"
                yield Flaw(path, what, _EDIT, warning=True)
