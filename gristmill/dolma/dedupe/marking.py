"""Marker: compares documents with those before them, and gives the rows of their attributes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import xxhash

from gristmill.dolma.dedupe.config import DedupeConfig
from gristmill.dolma.dedupe.seen import Hashes, SeenHashes
from gristmill.dolma.dedupe.units import NoKey, document_keys, paragraph_keys
from gristmill.errors import MalformedRow
from gristmill.lake.rows.shard_file import split_rows


class Marker:
    """Marks what occurred in documents that it was given before.

    Args:
        config: configuration that says what is compared. With `read_only`, only the keys of `seen` are marked.
        seen: keys to begin with.

    Attributes:
        seen: the keys by now.
    """

    def __init__(self, config: DedupeConfig, seen: SeenHashes | None = None) -> None:
        self._config = config
        self.seen = seen or SeenHashes()
        self._compare = self.seen.contains if config.read_only else self.seen.add

    @property
    def distinct_key_count(self) -> int:
        """The number of different keys."""
        return len(self.seen)

    def rows(self, block: bytes, path: str, first: int) -> Iterator[bytes]:
        """The rows of attributes of documents, without line feeds.

        Args:
            block: complete lines, one document each.
            path: path of their file, for messages.
            first: number of the block's first row in the file.

        Raises:
            MalformedRow: a row is not valid JSON, or has no text or key; names file and row.
        """
        documents = [_decode_row(line, path, first + number) for number, line in enumerate(split_rows(block))]
        config = self._config
        try:
            keyed = document_keys(documents, config.key, config) if config.key else paragraph_keys(documents, config)
        except NoKey as error:
            raise MalformedRow(path, first + error.number, str(error), "Dolma needs one in each document") from error
        hashes = hash_keys(keyed.keys)
        mine = (hashes[:, 1] % np.uint64(config.partitions) == config.partition) | keyed.whole
        seen = np.zeros(len(mine), np.bool_)
        seen[mine] = self._compare(hashes[mine])
        attribute = config.numbered_name(config.attribute)
        for document, marks in zip(documents, keyed.marks(seen, mine), strict=True):
            attributes = {} if marks is None else {attribute: marks}
            row = {"attributes": attributes, "id": document.get("id")}
            yield orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


def hash_keys(keys: Sequence[bytes]) -> Hashes:
    """The XXH3-128 of each key: the high and the low half, shape (n, 2).

    Among n different keys, two have the same hash with a probability of about n² / 2^129.

    Args:
        keys: any bytes.
    """
    joined = b"".join([xxhash.xxh3_128_digest(key) for key in keys])
    return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)


def _decode_row(line: bytes, path: str, row: int) -> Any:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedRow(path, row, "an empty line" if not line.strip() else str(error)) from error
    if not isinstance(document, dict):
        raise MalformedRow(path, row, "it is no object")
    return document
