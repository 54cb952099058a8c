"""What the tests of parts share: an object in memory, read whole and in parts, and the edges of the parts compared."""

from collections.abc import Callable, Iterable, Iterator

from gristmill.lake.rows.raw_parts import Edge, cut_into_parts, part_name
from gristmill.lake.store.protocol import Entry, ObjectVersion
from gristmill.recipes.raw_object import RawObject, Refused


class Held:
    """An object in memory, as a store gives it, in pieces of one size."""

    def __init__(self, data: bytes, piece: int = 1 << 20) -> None:
        self._data, self._piece = data, piece
        self.given = 0

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:  # noqa: ARG002
        for at in range(start, len(self._data), self._piece):
            piece = self._data[at : at + self._piece]
            self.given += len(piece)
            yield piece

    def read_range(self, path: str, start: int, end: int) -> bytes:  # noqa: ARG002
        self.given += end - start
        return self._data[start:end]

    def head(self, path: str) -> Entry | None:
        return Entry(path, len(self._data), "etag")


Convert = Callable[[RawObject], Iterable[object]]


def read_whole(convert: Convert, name: str, data: bytes) -> list[object]:
    """What a converter makes of an object."""
    return _rows(convert, RawObject(Held(data), name, name, len(data)))


def read_parts(convert: Convert, name: str, data: bytes, size: int, piece: int = 1 << 20) -> list[list[object]]:
    """What a converter makes of the parts of an object, after a look that they meet."""
    made: list[list[object]] = []
    at = Edge(0)
    for part in cut_into_parts(len(data), size):
        raw = RawObject(Held(data, piece), name, part_name(name, part.start), len(data), part=part)
        made.append(_rows(convert, raw))
        raw.sha256()
        assert raw.edges is not None
        first, last = raw.edges
        if first is not None and last is not None:
            assert first == at
            at = last
    assert at == Edge(len(data))
    return made


def _rows(convert: Convert, raw: RawObject) -> list[object]:
    """The rows, the refused ones without their places: a part has other row numbers."""
    rows: list[object] = []
    for row in convert(raw):
        rows += [*raw.take_refused(), row]
    rows += raw.take_refused()
    return [row._replace(where="") if isinstance(row, Refused) else row for row in rows]


def flattened(made: list[list[object]]) -> list[object]:
    """The rows of all parts, one after the other."""
    return [row for rows in made for row in rows]
