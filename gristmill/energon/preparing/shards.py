"""Finds the shards of a dataset, and walks over them in several processes.

A worker keeps the rows of its shard in a file on this machine. So memory holds a batch of samples, and no shard.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from gristmill.energon.formats.info import is_hidden, is_tar
from gristmill.energon.formats.media import HEAD, MediaFilter, MediaKind, MediaRow, read_media
from gristmill.energon.preparing.dataset import is_packed_tar, list_files
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error
from gristmill.energon.preparing.metadataset.view import ViewedFolder
from gristmill.errors import DataError, RecipeError
from gristmill.formats.tar.keys import unusable_characters
from gristmill.formats.tar.samples import Samples
from gristmill.formats.tar.walk import TarWalk
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Entry, Store
from gristmill.pool import run_in_processes

_PARTS = 50
"""Names of parts that are counted in a shard."""
_ODDITIES = 20
"""Samples of a shard that are named one by one, if the loader takes them in another way than people expect."""
_LENGTH = 8


class ShardTask(msgspec.Struct, frozen=True):
    """A shard to walk over.

    Attributes:
        lake: the dataset's folder.
        shard: path of the tar in it.
        rows: path on this machine, where the rows are kept.
        media: filter that says which members are media; None if that is not asked.
        wanted: parts from which a field is read, for each field of a field map.
    """

    lake: Lake | ViewedFolder
    shard: str
    rows: str
    media: MediaFilter | None = None
    wanted: tuple[tuple[str, ...], ...] = ()


class Lacking(msgspec.Struct):
    """Samples of a shard without the part of a field.

    Attributes:
        samples: their number.
        first: the key of the first one.
    """

    samples: int = 0
    first: str = ""


class WalkedShard(msgspec.Struct):
    """What was found in a shard.

    Attributes:
        shard: its path.
        rows: path of the file with its rows.
        size: size of the tar in bytes.
        etag: etag of the tar before it was read.
        digest: SHA-256 of its samples, in hex; media do not change it.
        samples: number of samples.
        parts: number of files by the name of their part, at most about 50 names.
        ignored: members that are no part of a sample, by reason.
        media: number of media files with metadata.
        flaws: flaws in it.
        media_flaws: media files that cannot be read, or are not what their names say.
        lacking: samples without any of its parts, for each field of the task.
    """

    shard: str
    rows: str
    size: int = 0
    etag: str = ""
    digest: str = ""
    samples: int = 0
    parts: dict[str, int] = {}
    ignored: dict[str, int] = {}
    media: int = 0
    flaws: list[Flaw] = []
    media_flaws: list[Flaw] = []
    lacking: list[Lacking] = []


class _Batch(msgspec.Struct, array_like=True):
    """Samples and media rows of a shard, as they are kept in a file."""

    first: int
    keys: list[str]
    starts: bytes
    part_samples: bytes
    part_names: list[str]
    part_offsets: bytes
    part_sizes: bytes
    media: list[MediaRow]


def find_shards(store: Store, exclude: str | None = None) -> tuple[list[str], list[Flaw]]:
    """The tars of a folder in the order of their paths, and what is wrong with their names.

    Args:
        store: store of the dataset.
        exclude: a regular expression; tars in whose path it is found are left out.

    Raises:
        RecipeError: the expression is wrong.
    """
    try:
        left_out = re.compile(exclude) if exclude else None
    except re.error as error:
        raise RecipeError(f"--exclude {exclude!r} is not a regular expression: {error}") from error
    shards: list[str] = []
    flaws: list[Flaw] = []
    for entry in list_files(store):
        if left_out and left_out.search(entry.path):
            continue
        if not is_tar(entry.path):
            flaws += [flaw] if (flaw := flaw_of_non_shard(entry.path)) else []
            continue
        unusable = unusable_characters(entry.path)
        if unusable:
            flaws.append(Flaw(entry.path, f"the loader cannot use a path with {unusable!r}", "rename the shard"))
        shards.append(entry.path)
    return shards, flaws


def flaw_of_non_shard(path: str) -> Flaw | None:
    """The flaw of a file that is some tar but no shard; None for other files.

    The real tool takes `.tgz` for a shard, which its loader then cannot read. It passes over the others.

    Args:
        path: path of a file that is no shard.

    >>> print(flaw_of_non_shard("A.TAR"))
    A.TAR: it is passed over, for the name of a shard ends in .tar (rename it)
    >>> print(flaw_of_non_shard(".old/a.tar"))
    .old/a.tar: it is passed over, for a name in its path begins with a dot (rename it)
    """
    if is_hidden(path):
        if not path.lower().endswith(".tar") and not is_packed_tar(path.lower()):
            return None
        return Flaw(path, "it is passed over, for a name in its path begins with a dot", "rename it", warning=True)
    if path.endswith(".tgz"):
        return Flaw(path, "the loader cannot read packed tars", "unpack it, or leave it out: --exclude")
    if is_tar(path.lower()):
        return Flaw(path, "it is passed over, for the name of a shard ends in .tar", "rename it", warning=True)
    if is_packed_tar(path.lower()):
        what = "it is passed over, for the loader cannot read packed tars"
        return Flaw(path, what, "unpack it, or remove it", warning=True)
    return None


def walk_shards(tasks: Sequence[ShardTask], workers: int) -> Iterator[WalkedShard]:
    """The results of walking over shards, in the order of the tasks.

    Args:
        tasks: the shards.
        workers: number of processes; 1: this one.

    Raises:
        StoreError: a process was killed.
    """
    yield from run_in_processes([partial(walk_shard, task) for task in tasks], workers)


def walk_shard(task: ShardTask) -> WalkedShard:
    """Walks over one shard, and keeps its rows in a file.

    A tar that cannot be read to its end is a flaw, and so is one without a sample.

    Returns:
        The result of the walk.
    """
    store = task.lake.store()
    found = WalkedShard(task.shard, task.rows, lacking=[Lacking() for _ in task.wanted])
    entry = store.head(task.shard)
    if entry is None:
        found.flaws.append(Flaw(task.shard, "there is no such shard", "put it back, or prepare the dataset again"))
        return found
    found.size, found.etag = entry.size, entry.etag
    walk = open_walk(store, entry)
    parts: Counter[str] = Counter()
    odd = 0
    digest = hashlib.sha256()
    try:
        with Path(task.rows).open("wb") as out:
            for batch in walk:
                media = list(_media_rows(store, task, batch, found.media_flaws)) if task.media else []
                found.media += len(media)
                packed = _pack_batch(batch, [])
                digest.update(packed)
                out.write(_pack_batch(batch, media) if media else packed)
                if len(parts) < _PARTS:
                    parts.update(batch.part_names)
                for flaw in _sample_oddities(task.shard, batch):
                    odd += 1
                    found.flaws += [flaw] if odd <= _ODDITIES else []
                _count_missing_parts(task, batch, found.lacking)
    except DataError as error:
        found.flaws.append(flaw_from_error(error, task.shard))
    else:
        if not walk.samples:
            found.flaws.append(Flaw(task.shard, "it has no sample", "remove it, or leave it out: --exclude"))
    if odd > _ODDITIES:
        found.flaws.append(Flaw(task.shard, f"{odd - _ODDITIES:,} more such samples", warning=True))
    found.digest = digest.hexdigest()
    found.samples, found.parts, found.ignored = walk.samples, dict(parts), dict(walk.ignored)
    return found


def open_walk(store: Store, entry: Entry) -> TarWalk:
    """The walk over a shard.

    Args:
        store: store of the dataset.
        entry: entry of the shard.
    """

    def read(start: int, length: int) -> bytes:
        end = min(start + length, entry.size)
        return store.read_range(entry.path, start, end) if start < end else b""

    return TarWalk(read, entry.size, entry.path)


def _count_missing_parts(task: ShardTask, batch: Samples, lacking: Sequence[Lacking]) -> None:
    for parts, one in zip(task.wanted, lacking, strict=True):
        numbers = zip(batch.part_samples.tolist(), batch.part_names, strict=True)
        having = {number for number, name in numbers if name in parts}
        keys = [key for number, key in enumerate(batch.keys, batch.first) if number not in having]
        one.first = one.first or (keys[0] if keys else "")
        one.samples += len(keys)


def _sample_oddities(shard: str, batch: Samples) -> Iterator[Flaw]:
    """What the loader takes in another way than people expect."""
    for key in batch.keys:
        if key.endswith("/"):
            what = "its key is a folder: the file's name begins with a dot"
            yield Flaw(shard, what, "rename the file", f"sample {key!r}", warning=True)
    pairs = list(zip(batch.part_samples.tolist(), batch.part_names, strict=True))
    if len(set(pairs)) < len(pairs):
        for (number, name), times in Counter(pairs).items():
            if times > 1:
                key = batch.keys[number - batch.first]
                what = f"part {name!r} comes {times} times; the loader takes the last"
                yield Flaw(shard, what, "leave one of them", f"sample {key!r}", warning=True)


def _media_rows(store: Store, task: ShardTask, batch: Samples, flaws: list[Flaw]) -> Iterator[MediaRow]:
    media = task.media or MediaFilter("EXTENSION")
    for number, name, offset, size in batch.part_rows():
        entry_key = f"{batch.keys[number - batch.first]}.{name}"
        if not media.may_be_media(entry_key):
            continue
        head = store.read_range(task.shard, offset, offset + min(size, HEAD)) if size else b""
        kind = media.kind(entry_key, head)
        if kind is None:
            continue
        data = head if size <= HEAD else store.read_range(task.shard, offset, offset + size)
        row, flaw = check_media(task.shard, entry_key, kind, data)
        flaws += [flaw] if flaw else []
        if row:
            yield row


def check_media(path: str, entry_key: str, kind: MediaKind, data: bytes) -> tuple[MediaRow | None, Flaw | None]:
    """The row of a media file and its flaw; either may be None.

    Args:
        path: path of the file that holds it, for the flaw.
        entry_key: its name in the dataset.
        kind: kind of the media.
        data: content of the file.
    """
    place = "" if path == entry_key else repr(entry_key)
    try:
        row, found = read_media(entry_key, kind, data)
    except DataError as error:
        return None, Flaw(path, str(error), "replace the file, or exclude its sample", place)
    what = f"this file is {found}, not what its name says"
    return row, Flaw(path, what, "rename it", place, warning=True) if found else None


def _pack_batch(batch: Samples, media: list[MediaRow]) -> bytes:
    columns = (batch.starts, batch.part_samples, batch.part_offsets, batch.part_sizes)
    starts, samples, offsets, sizes = (np.asarray(column, dtype="<i8").tobytes() for column in columns)
    packed = msgspec.msgpack.encode(
        _Batch(batch.first, batch.keys, starts, samples, batch.part_names, offsets, sizes, media)
    )
    return len(packed).to_bytes(_LENGTH, "little") + packed


def kept_rows(rows: Path) -> Iterator[tuple[Samples, list[MediaRow]]]:
    """The batches of samples of a shard that was walked over, and the rows of its media.

    Args:
        rows: path of the file with the rows.
    """
    with closing(rows.open("rb")) as file:
        while length := file.read(_LENGTH):
            batch = msgspec.msgpack.decode(file.read(int.from_bytes(length, "little")), type=_Batch)
            starts, samples, offsets, sizes = (
                np.frombuffer(column, dtype="<i8")
                for column in (batch.starts, batch.part_samples, batch.part_offsets, batch.part_sizes)
            )
            yield Samples(batch.first, batch.keys, starts, samples, batch.part_names, offsets, sizes), batch.media


def kept_offsets(rows: Path) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The n + 1 offsets of the index of a shard that was walked over, in batches of shape (k,).

    Args:
        rows: path of the file with the rows.
    """
    end = np.zeros(0, dtype=np.int64)
    for samples, _ in kept_rows(rows):
        yield samples.starts[:-1]
        end = samples.starts[-1:]
    yield end
