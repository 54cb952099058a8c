"""ForeignRows: the rows of a file beside a file of documents, as many at a time as the documents need."""

from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.lake.rows.shard_file import split_rows


class ForeignRows:
    """Rows of one file.

    Args:
        path: path of the file, for messages.
        blocks: bytes of its rows, in blocks.
    """

    def __init__(self, path: str, blocks: Iterator[bytes]) -> None:
        self.path = path
        self._blocks = blocks
        self._lines: list[bytes] = []

    def next_rows(self, count: int, beside: str, first: int) -> list[bytes]:
        """The next rows.

        Args:
            count: number of rows.
            beside: path of the documents, for messages.
            first: number of the first of them.

        Raises:
            DataError: the file has fewer rows, or is truncated.
        """
        while len(self._lines) < count:
            block = next(self._blocks, None)
            if block is None:
                raise DataError(
                    f"{self.path}: it has {first + len(self._lines)} rows, and {beside} has more. Dolma's mixer would"
                    " pass the others without these attributes; tag the documents again"
                )
            self._lines += split_rows(block)
        taken, self._lines = self._lines[:count], self._lines[count:]
        return taken

    def finish(self, beside: str, rows: int) -> None:
        """Checks that no row is left.

        Args:
            beside: path of the documents, for messages.
            rows: number of rows that the documents have.

        Raises:
            DataError: there is one.
        """
        if self._lines or next(self._blocks, None) is not None:
            raise DataError(f"{self.path}: it has more rows than {beside}, which has {rows}; tag the documents again")
