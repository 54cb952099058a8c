"""Finds the samples of a JSONL file, one for each line that is not blank, and checks each line.

The index has the start of each such line and the size of the file. Blank lines belong to the sample before them, those
at the start to the first one. Lines end at a line feed; a carriage return before it is white space.

Source: NVIDIA/Megatron-Energon 7.4.1. Its `prepare` looks at the braces of each line only. Its loader then drops the
lines whose JSON is not valid, with a line in a log.
"""

import json
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.formats.tar.samples import Offsets

_STEP = 1 << 17
"""Bytes that are looked at together: so few that they stay in the cache of a core."""
_LINE_FEED, _OPEN, _CLOSE = 10, 123, 125
_MARK = b"\xef\xbb\xbf"


class BadLine(NamedTuple):
    """A line that is no sample.

    Attributes:
        line: its number, counted from 1.
        offset: offset of its first byte.
        reason: description of the fault.
    """

    line: int
    offset: int
    reason: str


def jsonl_offsets(
    file: IO[bytes],
    name: str,
    *,
    parse: bool = True,
    report: Callable[[BadLine], None] | None = None,
) -> Iterator[Offsets]:
    r"""The offsets of an index, in batches: the start of each sample, and at the end the size of the file.

    Memory is bounded by the longest line.

    Args:
        file: read from its start to its end.
        name: name of the file, for messages.
        parse: whether the JSON of each line is parsed; without it only its braces are looked at.
        report: function that is called for each bad line, which then is no sample. None: the first bad line raises.

    Raises:
        DataError: a line is bad; or the file has no sample.

    >>> from io import BytesIO
    >>> [batch.tolist() for batch in jsonl_offsets(BytesIO(b'\n{"a": 1}\n\n{"a": 2}'), "a.jsonl")]
    [[0], [11], [19]]
    """
    scan = _Scan(name, parse, report)
    size = samples = 0
    for block in _read_whole_lines(file):
        starts = scan.lines(block, size)
        size += len(block)
        if starts.size:
            if not samples:
                starts[0] = 0
            samples += starts.size
            yield starts
    if not samples:
        raise DataError(f"{name}: it has no sample; give it a line with a JSON object, or remove the file")
    yield np.array([size], dtype=np.int64)


def _read_whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The file in blocks that end behind a line feed, except the last."""
    held: list[bytes] = []
    while chunk := file.read(_STEP):
        end = chunk.rfind(b"\n") + 1
        if not end:
            held.append(chunk)
            continue
        yield b"".join((*held, chunk[:end])) if held or end < len(chunk) else chunk
        held = [chunk[end:]] if end < len(chunk) else []
    if held:
        yield b"".join(held)


class _Scan:
    """Finds and checks lines; counts them for messages."""

    def __init__(self, name: str, parse: bool, report: Callable[[BadLine], None] | None) -> None:  # noqa: FBT001
        self._name, self._parse = name, parse
        self._report = report or self._raise_bad_row
        self._seen = 0

    def lines(self, block: bytes, offset: int) -> Offsets:
        """The starts in the file of the samples of a block.

        Args:
            block: whole lines.
            offset: of the block in the file.
        """
        data = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(data == _LINE_FEED)
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        starts = np.empty_like(ends)
        starts[0], starts[1:] = 0, ends[:-1] + 1
        plain = _are_in_braces(data, starts, ends)
        kept = plain.copy()
        for row in np.flatnonzero(~plain).tolist():
            kept[row] = self._is_sample(block[starts[row] : ends[row]].strip(), row, int(starts[row]) + offset)
        if self._parse:
            view = memoryview(block)
            for row, start, end in zip(
                np.flatnonzero(kept).tolist(), starts[kept].tolist(), ends[kept].tolist(), strict=True
            ):
                reason = _line_json_error(view[start:end])
                if reason:
                    kept[row] = False
                    self._note_bad_row(row, start + offset, reason)
        self._seen += len(ends)
        return np.asarray(starts[kept] + offset, dtype=np.int64)

    def _is_sample(self, line: bytes, row: int, offset: int) -> bool:
        """Whether a line with white space around it is a sample; a blank one is not, and is not bad either."""
        if not line:
            return False
        if line.startswith(b"{") and line.endswith(b"}") and len(line) > 1:
            return True
        if line.startswith(_MARK):
            reason = "it begins with a byte order mark; remove it"
        else:
            reason = f"it is not a JSON object on one line: {line[:60]!r}"
        self._note_bad_row(row, offset, reason)
        return False

    def _note_bad_row(self, row: int, offset: int, reason: str) -> None:
        self._report(BadLine(self._seen + row + 1, offset, reason))

    def _raise_bad_row(self, bad: BadLine) -> None:
        raise DataError(f"{self._name} line {bad.line} (byte {bad.offset}): {bad.reason}; repair or remove the line")


def _are_in_braces(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each line begins with `{` and ends with `}`, without white space around them."""
    longer = ends - starts > 1
    first = np.zeros(len(starts), dtype=np.uint8)
    first[longer] = data[starts[longer]]
    last = np.zeros(len(starts), dtype=np.uint8)
    last[longer] = data[ends[longer] - 1]
    return np.asarray((first == _OPEN) & (last == _CLOSE))


def _line_json_error(line: memoryview) -> str:
    """Why the loader would drop a line; empty if it would not. It parses with Python's `json`, which takes NaN."""
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            json.loads(bytes(line))
        except (ValueError, RecursionError) as error:
            return f"its JSON is not valid: {error}"
    return ""
