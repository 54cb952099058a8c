"""Counts of a dataset as a table of lines, for a person."""

from collections import Counter
from collections.abc import Iterator

from gristmill.energon.formats.dataset_yaml import DATASET_YAML
from gristmill.energon.formats.split import SPLIT_YAML, read_split
from gristmill.energon.formats.sqlite_index import index_tables, media_filters, media_rows
from gristmill.energon.preparing.dataset import INDEX, DatasetPath, kind_of, meta_path
from gristmill.energon.preparing.files import copy_to_local_file, read_optional, scratch_folder
from gristmill.energon.preparing.index_file import as_index_of_dataset
from gristmill.energon.preparing.jsonl import jsonl_samples
from gristmill.energon.preparing.prepare import read_counts
from gristmill.energon.preparing.split_file import find_split, read_samples
from gristmill.errors import DataError
from gristmill.formats.yaml_text import read_yaml
from gristmill.lake.store.protocol import Store


def info_lines(
    dataset: DatasetPath, split_config: str = SPLIT_YAML, dataset_config: str = DATASET_YAML
) -> Iterator[str]:
    """The lines that say what is known of a dataset. Only its own files are read, no shard.

    Args:
        dataset: a JSONL file or a folder.
        split_config: name of the split file.
        dataset_config: name of the file that says how samples are made.

    Raises:
        DataError: it is not prepared, or one of its files is wrong.
        StoreError: the store does not answer.
    """
    store = dataset.open_dataset_store()
    kind = kind_of(dataset, store)
    if kind == "jsonl":
        yield from _jsonl_lines(dataset, store)
    elif kind == "tars":
        yield from _tar_lines(dataset, store, split_config, dataset_config)
    else:
        yield f"{dataset.url}: a folder of files"
    if kind != "jsonl":
        yield from _media_lines(store)


def _jsonl_lines(dataset: DatasetPath, store: Store) -> Iterator[str]:
    entry = store.head(dataset.name)
    samples = jsonl_samples(store, dataset.name)
    yield f"{dataset.url}: JSONL, {entry.size if entry else 0:,} bytes"
    yield "samples  not known: run prepare" if samples is None else f"samples  {samples:,}"
    yield "type     crude; every split has all samples"


def _tar_lines(dataset: DatasetPath, store: Store, split_config: str, dataset_config: str) -> Iterator[str]:
    counts = read_counts(store)
    sizes = [entry.size for shard in counts if (entry := store.head(shard))]
    yield f"{dataset.url}: WebDataset, {sum(sizes):,} bytes"
    yield f"samples  {sum(counts.values()):,} in {len(counts):,} shards"
    if len(sizes) < len(counts):
        yield f"missing  {len(counts) - len(sizes):,} shards: run lint"
    yield f"type     {_sample_type_in_words(store, meta_path(dataset_config))}"
    path, data = find_split(store, split_config)
    if data is None:
        yield "splits   no split file: run prepare"
        return
    split = read_split(data, path)
    for name, shards in split.split_parts.items():
        samples = read_samples(split, name, counts)
        share = 100 * samples / max(1, sum(counts.values()))
        yield f"split    {name}: {samples:,} samples ({share:.1f} %) in {len(shards):,} shards"
    if split.exclude:
        yield f"exclude  {len(split.exclude):,} shards and samples"


def _sample_type_in_words(store: Store, path: str) -> str:
    data = read_optional(store, path)
    if data is None:
        return f"not known: there is no {path}"
    value = read_yaml(data, path)
    kind = value.get("sample_type", value)
    name = kind.get("__class__") if isinstance(kind, dict) else None
    if name is None:
        raise DataError(f"{path}: it names no class of samples; run lint")
    more = [
        f"{field} {value[field]}"
        for field in ("field_map", "sample_loader", "subflavors", "part_filter")
        if field in value
    ]
    crude = "crude" if name == "CrudeWebdataset" else f"{kind.get('__module__', '')}.{name}"
    return "; ".join([crude, *more])


def _media_lines(store: Store) -> Iterator[str]:
    if store.head(meta_path(INDEX)) is None:
        return
    with scratch_folder(None) as folder:
        index = folder / INDEX
        copy_to_local_file(store, meta_path(INDEX), index)
        with as_index_of_dataset(index):
            if not {"media_metadata", "media_filters"} <= index_tables(index):
                return
            filters = [f"{each.strategy} {each.patterns}".strip() for each in media_filters(index)]
            kinds = Counter(row.metadata_type for row in media_rows(index))
    counted = ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))
    yield f"media    {counted or 'none'}; selected by {', '.join(filters) or 'nothing'}"
