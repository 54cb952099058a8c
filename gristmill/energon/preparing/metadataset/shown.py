"""What a metadataset names, and its first samples, as lines for a person."""

from collections.abc import Iterator, Sequence

from gristmill.energon.formats.split import read_split
from gristmill.energon.preparing.dataset import is_prepared, meta_path
from gristmill.energon.preparing.files import read_optional
from gristmill.energon.preparing.jsonl import jsonl_samples
from gristmill.energon.preparing.metadataset.leaves import Leaf, MetadatasetPath, read_leaves
from gristmill.energon.preparing.prepare import read_counts
from gristmill.energon.preparing.preview import preview_lines
from gristmill.energon.preparing.split_file import read_samples
from gristmill.errors import DataError

_SHOWN = 10
"""Datasets whose first samples are shown."""


def metadataset_lines(metadataset: MetadatasetPath) -> Iterator[str]:
    """The datasets of each split with their shares and samples. No shard is read.

    Raises:
        DataError: the metadataset is wrong, or a dataset's own file is not.
        StoreError: the store does not answer.
    """
    leaves = read_leaves(metadataset)
    splits = list(dict.fromkeys(leaf.split for leaf in leaves))
    yield f"{metadataset.url}: metadataset, {len({leaf.name for leaf in leaves}):,} datasets in {len(splits)} splits"
    for split in splits:
        here = [leaf for leaf in leaves if leaf.split == split]
        yield f"split    {split}: {_total_in_words(here)}"
        for leaf in here:
            yield f"  {_share_in_words(leaf)}{leaf.name}{_part_in_words(leaf)}: {_sample_count_in_words(leaf)}"
            for name, address in leaf.aux.items():
                yield f"    aux {name}: {address}"


def _total_in_words(leaves: Sequence[Leaf]) -> str:
    known = [_count_samples(leaf) for leaf in leaves]
    total = f"{sum(number or 0 for number in known):,} samples in {len(leaves):,} datasets"
    return total if None not in known else f"at least {total}"


def _share_in_words(leaf: Leaf) -> str:
    if leaf.times is not None:
        return f"{leaf.times:g} times  "
    return "" if leaf.share is None else f"{100 * leaf.share:.1f} %  "


def _part_in_words(leaf: Leaf) -> str:
    shown = leaf.dataset is None or not leaf.dataset.name
    return f", split {leaf.part}" if shown and leaf.part != leaf.split else ""


def _sample_count_in_words(leaf: Leaf) -> str:
    if leaf.dataset is None:
        return leaf.why
    number = _count_samples(leaf)
    return "not prepared, or missing: run lint" if number is None else f"{number:,} samples"


def _count_samples(leaf: Leaf) -> int | None:
    """The samples that a dataset has in the split, without excluded ones, by its own files; None: they do not say."""
    if leaf.dataset is None:
        return None
    store = leaf.dataset.open_dataset_store()
    if leaf.dataset.name:
        return jsonl_samples(store, leaf.dataset.name)
    if not is_prepared(store):
        return None
    counts, path = read_counts(store), meta_path(leaf.split_config)
    data = read_optional(store, path)
    if data is None:
        return None
    return read_samples(read_split(data, path), leaf.part, counts)


def metadataset_preview(metadataset: MetadatasetPath, most: int) -> Iterator[str]:
    """The first samples of each dataset, of at most ten of them.

    Args:
        metadataset: the file.
        most: samples of each dataset.

    Raises:
        DataError: no dataset can be looked at; or as `metadataset_lines` and `preview_lines`.
        StoreError: the store does not answer.
    """
    found = {leaf.name: leaf for leaf in read_leaves(metadataset) if leaf.dataset is not None}
    if not found:
        raise DataError(f"{metadataset.url}: it names no dataset that can be looked at from here; see `info`")
    for leaf in list(found.values())[:_SHOWN]:
        if leaf.dataset is not None:
            yield f"dataset {leaf.name}"
            yield from preview_lines(leaf.dataset, most)
    if len(found) > _SHOWN:
        yield f"and {len(found) - _SHOWN:,} datasets more"
