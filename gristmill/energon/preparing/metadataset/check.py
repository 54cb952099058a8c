"""Checks a metadataset: its names and shares, and each dataset that it names."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gristmill.energon.formats.split import read_split
from gristmill.energon.preparing.dataset import INDEX, DatasetPath, is_prepared, is_release, meta_path
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error
from gristmill.energon.preparing.jsonl import lint_jsonl
from gristmill.energon.preparing.lint import LintOptions, lint_tars
from gristmill.energon.preparing.metadataset.leaves import Leaf, MetadatasetPath, place_below_root, read_leaves
from gristmill.energon.preparing.metadataset.view import ViewedFolder
from gristmill.energon.preparing.prepare import Watch
from gristmill.energon.preparing.shards import WalkedShard
from gristmill.energon.preparing.split_file import find_split
from gristmill.errors import DataError, StoreError

_VERIFY = "`gristmill verify` says what to make again"


class CheckedLeaves(NamedTuple):
    """What was found: number of datasets, of their samples, and all flaws."""

    datasets: int
    samples: int
    flaws: list[Flaw]


def check_tars(dataset: DatasetPath, options: LintOptions, watch: Watch) -> tuple[list[WalkedShard], list[Flaw]]:
    """The walked shards of a prepared dataset of tars, or of a release of an export, and their flaws. See lint_tars().

    A release is mended by its recipe, so its flaws name another mend. Its splits may be empty, but for `train`.
    """
    if not is_release(dataset):
        return lint_tars(dataset, options, watch)
    splits = [name for name in options.splits if name == "train"]
    shards, flaws = lint_tars(dataset, options._replace(splits=splits), watch)
    return shards, [flaw._replace(mend=_VERIFY) for flaw in flaws]


def check_metadataset(metadataset: MetadatasetPath, options: LintOptions, watch: Watch) -> CheckedLeaves:
    """Checks a metadataset, and each dataset that it names once.

    Args:
        metadataset: the file.
        options: workers and tmp are used.
        watch: function that takes each shard when it was walked over.

    Returns:
        The number of datasets and samples, and the flaws.

    Raises:
        StoreError: the store does not answer.
    """
    try:
        leaves = read_leaves(metadataset)
    except DataError as error:
        return CheckedLeaves(0, 0, [flaw_from_error(error, metadataset.path)])
    flaws = [*_share_flaws(metadataset.path, leaves)]
    named: dict[str, tuple[DatasetPath, list[Leaf]]] = {}
    flaws += _auxiliary_source_flaws(metadataset, leaves)
    for leaf in leaves:
        if leaf.dataset is None:
            flaws.append(Flaw(metadataset.path, leaf.why, "", f"dataset {leaf.name!r:.200}"))
        else:
            named.setdefault(leaf.name, (leaf.dataset, []))[1].append(leaf)
    samples, exported = 0, metadataset.is_of_export
    for dataset, here in named.values():
        counted, found = _check_leaf(dataset, here, options, watch)
        samples += counted
        flaws += [flaw._replace(mend=_VERIFY) for flaw in found] if exported else found
    return CheckedLeaves(len(named), samples, flaws)


def _share_flaws(path: str, leaves: Sequence[Leaf]) -> Iterator[Flaw]:
    """Flaws of the shares of each split."""
    for split in dict.fromkeys(leaf.split for leaf in leaves):
        here = [leaf for leaf in leaves if leaf.split == split]
        place = f"split {split!r:.100}"
        if any(leaf.share is not None for leaf in here) and any(leaf.times is not None for leaf in here):
            yield Flaw(path, "it has weights and repetitions; the loader takes one of them", "choose one", place)
        for leaf in here:
            if (leaf.share if leaf.times is None else leaf.times) == 0:
                yield Flaw(path, f"{leaf.name!r:.200} is never drawn", "leave it out", place, warning=True)
        seen = set[tuple[str, str]]()
        for leaf in here:
            if (leaf.name, leaf.part) in seen:
                what = f"{leaf.name!r:.200} comes twice: the loader draws the same samples twice"
                yield Flaw(path, what, "leave one of them out", place)
            seen.add((leaf.name, leaf.part))


def _auxiliary_source_flaws(metadataset: MetadatasetPath, leaves: Sequence[Leaf]) -> Iterator[Flaw]:
    """Flaws of auxiliary sources. Each is looked at once."""
    for folder, name, address in dict.fromkeys(
        (leaf.folder, *source) for leaf in leaves for source in leaf.aux.items()
    ):
        kind, separator, rest = address.partition("://")
        files = kind == "filesystem" and bool(separator)
        place, why = place_below_root(metadataset.root, folder, rest if files else address)
        where = f"auxiliary source {name!r:.100}"
        if why:
            yield Flaw(metadataset.path, why, "", where, warning=True)
            continue
        store = ViewedFolder(metadataset.root, place).store()
        if files and next(store.list(""), None) is None:
            yield Flaw(metadataset.path, f"{place}: no file is there", "correct the address", where)
        elif not files and store.head(meta_path(INDEX)) is None:
            yield Flaw(metadataset.path, f"{place}: it has no {INDEX}", "run prepare there", where)


def _check_leaf(
    dataset: DatasetPath, named: Sequence[Leaf], options: LintOptions, watch: Watch
) -> tuple[int, list[Flaw]]:
    """The samples of a dataset, and its flaws; `named` are the leaves that name it."""
    leaf = named[0]
    try:
        if dataset.name:
            if dataset.open_dataset_store().head(dataset.name) is None:
                return 0, [Flaw(leaf.name, "there is no such file", "put it there, or correct the name")]
            scan = lint_jsonl(dataset)
            folder = leaf.name.removesuffix(dataset.name)
            return scan.samples, [flaw._replace(path=folder + flaw.path) for flaw in scan.flaws]
        if not is_prepared(dataset.open_dataset_store()):
            return 0, [Flaw(leaf.name, "no prepared dataset is there", "correct the name, or run prepare there")]
    except StoreError as error:
        return 0, [Flaw(leaf.name, str(error))]
    flaws: list[Flaw] = []
    samples = 0
    for config in dict.fromkeys(each.split_config for each in named):
        shards, found = check_tars(dataset, options._replace(split_config=config, splits=()), watch)
        samples = sum(shard.samples for shard in shards)
        flaws += [*found, *_split_shard_flaws(dataset, config, [each for each in named if each.split_config == config])]
    return samples, [flaw._replace(path=f"{leaf.name}/{flaw.path}") for flaw in flaws]


def _split_shard_flaws(dataset: DatasetPath, config: str, named: Sequence[Leaf]) -> Iterator[Flaw]:
    """Flaws of the splits that are read: each must have a shard."""
    path, data = find_split(dataset.open_dataset_store(), config)
    if data is None:
        return
    try:
        split = read_split(data, path)
    except DataError:
        return  # said already
    for part in dict.fromkeys(leaf.part for leaf in named):
        if not set(split.split_parts.get(part, ())) - set(split.exclude):
            yield Flaw(path, f"split {part!r:.100} has no shard, but the metadataset reads it", "correct one of them")
