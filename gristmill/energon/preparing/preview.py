"""The first samples of a dataset, one part a line, for a person."""

import json
from collections.abc import Iterator, Sequence

from gristmill.energon.formats.info import INFO
from gristmill.energon.formats.media import HEAD, kind_by_ending
from gristmill.energon.formats.split import SPLIT_YAML, SplitFile, read_split
from gristmill.energon.preparing.dataset import DatasetPath, is_prepared, kind_of, meta_path
from gristmill.energon.preparing.files import read_optional
from gristmill.energon.preparing.prepare import read_counts
from gristmill.energon.preparing.shards import find_shards, open_walk
from gristmill.errors import DataError, RecipeError, shorten
from gristmill.lake.rows.streamed_file import StreamedFile
from gristmill.lake.store.protocol import Store

_WIDTH = 100


def preview_lines(dataset: DatasetPath, most: int, splits: Sequence[str] = ()) -> Iterator[str]:
    """The first samples of a dataset, line by line. Media are not decoded, and no code of the dataset is run.

    Args:
        dataset: a JSONL file or a folder of tars; it need not be prepared.
        most: number of samples; of each split, if some are given.
        splits: names of splits of a prepared folder of tars; empty: the shards in their order, whatever split they are
            in.

    Raises:
        RecipeError: it is a folder without tars, or it does not have these splits.
        DataError: a shard or a line before the last of these samples is wrong.
        StoreError: the store does not answer.
    """
    store = dataset.open_dataset_store()
    kind = kind_of(dataset, store)
    if kind == "files":
        raise RecipeError(f"{dataset.url}: a folder of files has no samples; give a folder of tars, or a .jsonl file")
    if splits and (kind == "jsonl" or not is_prepared(store)):
        raise RecipeError(
            f"{dataset.url}: it has no splits, for it is no prepared folder of tars; leave out --split-parts"
        )
    if not splits:
        yield from (
            _preview_jsonl(store, dataset.name, most)
            if kind == "jsonl"
            else _preview_tars(store, most, _shard_names(store))
        )
    for split in splits:
        shards = _shards_of_split(store, dataset.url, split)
        yield f"split {split!r}" if shards else f"split {split!r} is empty"
        yield from _preview_tars(store, most, shards)


def _shard_names(store: Store) -> list[str]:
    return list(read_counts(store)) if is_prepared(store) else find_shards(store)[0]


def _shards_of_split(store: Store, url: str, split: str) -> list[str]:
    """The shards that the loader reads for a split."""
    path = meta_path(SPLIT_YAML)
    data = read_optional(store, path)
    found = read_split(data, path) if data is not None else SplitFile({})
    if split not in found.split_parts:
        raise RecipeError(f"{url}: it has no split {split!r}; give some of {', '.join(found.split_parts)}")
    counts = read_counts(store)  # names that lead out of the dataset are refused
    for shard in found.split_parts[split]:
        if shard not in counts:
            raise DataError(f"{path}: it names {shard!r:.200}, which {INFO} does not name; run lint")
    return [shard for shard in found.split_parts[split] if shard not in found.exclude]


def _preview_jsonl(store: Store, name: str, most: int) -> Iterator[str]:
    number = 0
    for row, line in enumerate(StreamedFile(store.stream(name), name), start=1):
        if not line.strip():
            continue
        if number == most:
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}: line {row}: its JSON is not valid: {error}; repair or remove it") from error
        yield f"sample {number}"
        yield from _field_lines(value)
        number += 1


def _field_lines(value: object) -> Iterator[str]:
    for field, each in value.items() if isinstance(value, dict) else [("", value)]:
        yield f"  {field}: {shorten(json.dumps(each, ensure_ascii=False), _WIDTH)}"


def _preview_tars(store: Store, most: int, shards: Sequence[str]) -> Iterator[str]:
    left = most
    for shard in shards:
        entry = store.head(shard)
        if entry is None:
            raise DataError(f"{shard}: there is no such shard; put it back, or prepare the dataset again")
        for batch in open_walk(store, entry):
            chosen = batch.keys[:left]
            rows = list(batch.part_rows())
            for number, key in enumerate(chosen, start=batch.first):
                yield f"sample {key!r} ({shard})"
                for sample, name, offset, size in rows:
                    if sample == number:
                        yield f"  {name}: {_part_as_text(store, shard, f'{key}.{name}', offset, size)}"
            left -= len(chosen)
            if not left:
                return


def _part_as_text(store: Store, shard: str, name: str, offset: int, size: int) -> str:
    """A part as text if it is text, else its size and its first bytes."""
    head = store.read_range(shard, offset, offset + min(size, HEAD)) if size else b""
    kind = kind_by_ending(name)
    try:
        text = head.decode() if size <= HEAD else head[:-4].decode(errors="ignore")
    except UnicodeDecodeError:
        text = ""
    if kind or (head and (not text or "\0" in text)):
        return f"{size:,} bytes{f' ({kind})' if kind else ''}, {head[:8]!r} ..."
    return shorten(" ".join(text.split()), _WIDTH)
