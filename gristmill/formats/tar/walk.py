"""Walks over the headers of a tar and finds its samples: keys, parts, offsets. The content of members is not read.

A member is a header of 512 bytes and its content, filled up to whole blocks of 512 bytes. Extended headers of their own
may stand before it: PAX records, or a long name of GNU tar. Two blocks of zeros end the archive.

Offsets are those of NVIDIA/Megatron-Energon 7.4.1, which takes them from Python's `tarfile`. `tarfile` takes a damaged
header or a missing end for the end of the archive; here both are errors that name their place.

Source: POSIX.1-2024, `pax`, for ustar and PAX headers; the GNU tar manual, "Basic Tar Format".
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gristmill.formats.tar.headers import TarHeaders, TarMembers
from gristmill.formats.tar.keys import split_name
from gristmill.formats.tar.samples import Offsets, Samples
from gristmill.formats.tar.tar_bytes import RangeReader

_LINES: Final = re.compile(r"^((?:.*/)?[^.\n]+)\.([^/\n]*)$", re.MULTILINE)
"""Names with a key and a part, one on a line."""


class _Parts(NamedTuple):
    """Consecutive parts of samples, each with the key of its sample and the start of its first header."""

    keys: list[str]
    names: list[str]
    starts: Offsets
    offsets: Offsets
    sizes: Offsets

    def cut(self, start: int, stop: int | None = None) -> "_Parts":
        """Those from `start` on, before `stop`."""
        return _Parts(
            self.keys[start:stop],
            self.names[start:stop],
            self.starts[start:stop],
            self.offsets[start:stop],
            self.sizes[start:stop],
        )

    def followed_by(self, other: "_Parts") -> "_Parts":
        return _Parts(
            self.keys + other.keys,
            self.names + other.names,
            np.concatenate((self.starts, other.starts)),
            np.concatenate((self.offsets, other.offsets)),
            np.concatenate((self.sizes, other.sizes)),
        )


class TarWalk:
    """The samples of one tar, in batches. Memory is bounded by a window and the largest number of parts in a sample.

    Neighbours with the same key are one sample. Members that are no part of a sample are counted, with their reason:
    "folder", "link", "device or FIFO", "unknown kind", "no key in its name". They belong to the sample before them.

    Args:
        read: function that gives bytes of the tar: `read(offset, length)`.
        size: size of the tar in bytes.
        name: name of the tar, for messages.

    Attributes:
        samples: number of samples so far.
        parts: number of parts so far.
        ignored: number of members that are no part of a sample, by reason.
        end: offset of the blocks of zeros that end the archive; 0 before the walk has come there.

    Raises:
        DataError: while it is iterated: the tar is packed, truncated or damaged, has no end or more bytes behind it; a
            header describes a sparse file; or a name is not UTF-8.

    >>> import io, tarfile
    >>> file = io.BytesIO()
    >>> with tarfile.open(fileobj=file, mode="w") as tar:
    ...     for name in ("a.txt", "a.json", "README", "b.txt"):
    ...         tar.addfile(tarfile.TarInfo(name))
    >>> walk = TarWalk(lambda start, size: file.getvalue()[start : start + size], len(file.getvalue()), "a.tar")
    >>> [(batch.keys, batch.starts.tolist(), batch.part_names) for batch in walk], dict(walk.ignored)
    ([(['a'], [0, 1536], ['txt', 'json']), (['b'], [1536, 2048], ['txt'])], {'no key in its name': 1})
    """

    def __init__(self, read: RangeReader, size: int, name: str) -> None:
        self._headers = TarHeaders(read, size, name)
        self.samples = self.parts = self.end = 0
        self.ignored: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Samples]:
        held: _Parts | None = None
        for members in self._headers:
            parts = self._sample_parts(members)
            if not parts.keys:
                continue
            held = held.followed_by(parts) if held else parts
            last = _first_of_last(held.keys)
            if last:
                yield self._whole_samples(held.cut(0, last), int(held.starts[last]))
                held = held.cut(last)
        self.end = self._headers.end
        if held:
            yield self._whole_samples(held, self.end)

    def _sample_parts(self, members: TarMembers) -> _Parts:
        """The members that are parts of samples; the others are counted."""
        columns = [np.array(column, dtype=np.int64) for column in (members.starts, members.offsets, members.sizes)]
        pairs = _key_part_pairs(members.names)
        if members.ignored or None in pairs:
            for number, pair in enumerate(pairs):
                reason = members.ignored.get(number) or ("" if pair else "no key in its name")
                if reason:
                    self.ignored[reason] += 1
                    pairs[number] = None
            kept = np.array([pair is not None for pair in pairs], dtype=np.bool_)
            columns = [column[kept] for column in columns]
        found = [pair for pair in pairs if pair is not None]
        keys, names = ([*column] for column in zip(*found, strict=True)) if found else ([], [])
        return _Parts(keys, names, *columns)

    def _whole_samples(self, parts: _Parts, end: int) -> Samples:
        """Whole samples, of which the last ends at `end`."""
        fresh = [True, *(key != before for key, before in zip(parts.keys[1:], parts.keys, strict=False))]
        first = self.samples
        firsts = np.flatnonzero(fresh)
        self.samples += len(firsts)
        self.parts += len(parts.keys)
        return Samples(
            first=first,
            keys=[parts.keys[number] for number in firsts.tolist()],
            starts=np.append(parts.starts[firsts], end),
            part_samples=np.cumsum(fresh) + (first - 1),
            part_names=parts.names,
            part_offsets=parts.offsets,
            part_sizes=parts.sizes,
        )


def _key_part_pairs(names: list[str]) -> list[tuple[str, str] | None]:
    """The key and the part of each name, as `split_name` gives them."""
    text = "\n".join(names)
    if not text.startswith("__") and "\n__" not in text and text.count("\n") == len(names) - 1:
        found = _LINES.findall(text)
        if len(found) == len(names):
            return found
    return [split_name(name) for name in names]


def _first_of_last(keys: list[str]) -> int:
    """The number of the first part of the last sample."""
    number = len(keys) - 1
    while number and keys[number - 1] == keys[-1]:
        number -= 1
    return number
