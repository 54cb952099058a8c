"""Prepares and checks JSONL files: an index of lines, which is all that a JSONL dataset has."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from gristmill.energon.formats.jsonl_index import BadLine, jsonl_offsets
from gristmill.energon.preparing.dataset import DatasetPath
from gristmill.energon.preparing.files import read_optional, write_pieces
from gristmill.energon.preparing.flaw import Flaw, flaw_from_error
from gristmill.errors import DataError
from gristmill.formats.tar.samples import Offsets, index_bytes, index_name, read_index
from gristmill.lake.rows.streamed_file import StreamedFile
from gristmill.lake.store.protocol import Store

MOST_FLAWS = 1000
"""Bad lines that are listed one by one."""


class JsonlScan(NamedTuple):
    """A JSONL file that was read once.

    Attributes:
        samples: number of lines that are samples.
        flaws: bad lines.
        offsets: offsets of the samples and of the file's end; of a file without a flaw.
    """

    samples: int
    flaws: list[Flaw]
    offsets: Offsets


def scan_jsonl(store: Store, name: str) -> JsonlScan:
    """Reads a JSONL file, and parses each line.

    Args:
        store: store of the file.
        name: name of the file.

    Returns:
        The number of samples, the flaws, and the offsets.

    Raises:
        StoreError: the store does not answer.
    """
    lines: list[BadLine] = []
    bad = 0

    def report(line: BadLine) -> None:
        nonlocal bad
        bad += 1
        if bad <= MOST_FLAWS:
            lines.append(line)

    batches: list[Offsets] = []
    empty: DataError | None = None
    try:
        batches.extend(jsonl_offsets(StreamedFile(store.stream(name), name), name, report=report))
    except DataError as error:
        empty = error
    flaws = [Flaw(name, line.reason, "repair or remove the line", f"line {line.line}") for line in sorted(lines)]
    if bad > MOST_FLAWS:
        flaws.append(Flaw(name, f"{bad - MOST_FLAWS:,} more lines are bad", "repair or remove them"))
    if empty and not flaws:
        flaws.append(flaw_from_error(empty, name))
    offsets = np.concatenate(batches) if batches else np.zeros(1, dtype=np.int64)
    return JsonlScan(len(offsets) - 1, flaws, offsets)


def prepare_jsonl(dataset: DatasetPath) -> JsonlScan:
    """Writes the index of a JSONL file, if each of its lines is a sample that the loader can read.

    Args:
        dataset: the file.

    Returns:
        What was found; with a flaw, nothing was written.

    Raises:
        StoreError: the store does not answer, or the index cannot be written.
    """
    store = dataset.open_dataset_store()
    before = store.head(dataset.name)
    scan = scan_jsonl(store, dataset.name)
    if store.head(dataset.name) != before:
        mend = "wait until nobody writes to it, then run again"
        scan.flaws.append(Flaw(dataset.name, "it was changed while it was read", mend))
    if not scan.flaws:
        index = index_bytes(scan.offsets)
        path = index_name(dataset.name)
        if read_optional(store, path) != index:
            write_pieces(store, path, [index])
        store.sweep()
    return scan


def lint_jsonl(dataset: DatasetPath) -> JsonlScan:
    """Checks each line of a JSONL file, and that its index is the one that these lines have.

    Returns:
        The scan, with the flaws of the index.

    Raises:
        StoreError: the store does not answer.
    """
    store = dataset.open_dataset_store()
    scan = scan_jsonl(store, dataset.name)
    return scan._replace(flaws=[*scan.flaws, *_index_flaws(store, dataset.name, scan)])


def read_sample_offsets(store: Store, path: str, again: str) -> Offsets | Flaw:
    """The offsets in an index of samples, shape (n + 1,), or what is wrong with it.

    Args:
        store: store of the dataset.
        path: path of the index.
        again: advice for a person if it is missing.

    Raises:
        StoreError: the store does not answer.
    """
    data = read_optional(store, path)
    if data is None:
        return Flaw(path, "there is no index", again)
    try:
        return read_index(data, path)
    except DataError as error:
        return flaw_from_error(error, path)


def _index_flaws(store: Store, name: str, scan: JsonlScan) -> Iterator[Flaw]:
    path, again = index_name(name), "run `gristmill energon prepare` on the file"
    offsets = read_sample_offsets(store, path, again)
    if isinstance(offsets, Flaw):
        yield offsets
        return
    entry = store.head(name)
    if entry and offsets[-1] != entry.size:
        what = f"it is of a file of {offsets[-1]:,} bytes, but {name} has {entry.size:,}"
        yield Flaw(path, what, f"the file was changed; {again}")
    elif not scan.flaws and len(offsets) != len(scan.offsets):
        yield Flaw(path, f"it has {len(offsets) - 1:,} samples, but {name} has {scan.samples:,}", again)
    elif not scan.flaws and (wrong := np.flatnonzero(offsets != scan.offsets)).size:
        yield Flaw(path, f"sample {wrong[0]} does not begin where its line does", again)


def jsonl_samples(store: Store, name: str) -> int | None:
    """The number of samples that the index of a JSONL file says; None without a valid index."""
    with suppress(DataError):
        data = read_optional(store, index_name(name))
        if data is not None:
            return len(read_index(data, name)) - 1
    return None
