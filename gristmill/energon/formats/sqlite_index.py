"""The file `index.sqlite` of a dataset: where each sample and each part is, for random access.

The rows come in the order of the shards, so that the same dataset gives the same rows. SQLite itself may write other
bytes in another version; the digest of an index is therefore that of its rows.

Source: NVIDIA/Megatron-Energon 7.4.1, which opens the file read-only and as immutable: a write-ahead log beside it
would not be read.
"""

import hashlib
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import orjson

from gristmill.energon.formats.media import MediaFilter, MediaRow
from gristmill.errors import DataError, DuplicateId
from gristmill.formats.tar.keys import split_name
from gristmill.formats.tar.samples import Samples

SELECTED: Final = "2000-01-01 00:00:00"
"""When media were selected, as an index says: always the same, so that the same files give the same index."""

_TABLES: Final = """
CREATE TABLE samples (tar_file_id INTEGER NOT NULL, sample_key TEXT NOT NULL UNIQUE, sample_index INTEGER NOT NULL,
    byte_offset INTEGER, byte_size INTEGER);
CREATE TABLE sample_parts (tar_file_id INTEGER, sample_index INTEGER, part_name TEXT, content_byte_offset INTEGER,
    content_byte_size INTEGER);
"""
_INDEXES: Final = """
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);
CREATE INDEX idx_sample_parts_seq ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset,
    content_byte_size);
"""
_MEDIA_TABLES: Final = """
CREATE TABLE IF NOT EXISTS media_metadata (entry_key TEXT PRIMARY KEY, metadata_type TEXT NOT NULL,
    metadata_json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS media_filters (filter_id INTEGER PRIMARY KEY AUTOINCREMENT, strategy TEXT NOT NULL,
    patterns TEXT, created_at_utc TEXT DEFAULT CURRENT_TIMESTAMP, UNIQUE(strategy, patterns));
"""
_INDEX_NAMES: Final = ("idx_samples_by_tar_and_idx", "idx_sample_parts_seq", "idx_sample_parts_full")
_COLUMNS: Final = {
    "samples": ("tar_file_id", "sample_key", "sample_index", "byte_offset", "byte_size"),
    "sample_parts": ("tar_file_id", "sample_index", "part_name", "content_byte_offset", "content_byte_size"),
}
_DAMAGES: Final = 5  # of a file, that SQLite is asked for
_COMPUTED: Final = """SELECT type || ' ' || quote(name) FROM sqlite_master
WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%' UNION ALL SELECT 'computed column ' || quote(x.name)
FROM sqlite_master m, pragma_table_xinfo(m.name) x WHERE m.type = 'table' AND x.hidden > 0"""
_ORDERED: Final = {
    "samples": "SELECT * FROM samples ORDER BY tar_file_id, sample_index",
    "sample_parts": "SELECT * FROM sample_parts ORDER BY tar_file_id, sample_index, content_byte_offset, part_name",
    "media_metadata": "SELECT * FROM media_metadata ORDER BY entry_key",
    "media_filters": "SELECT strategy, patterns FROM media_filters ORDER BY strategy, patterns",
}


class DuplicateKey(DuplicateId):
    """A sample key occurs twice in a dataset.

    Args:
        key: key of both samples.
        first: shard, and number of the sample in it, counted from 0.
        second: the same of the other sample.
    """

    def __init__(self, key: str, first: tuple[str, int], second: tuple[str, int]) -> None:
        self.key, self.first, self.second = key, first, second
        super().__init__(
            f"sample key {key!r:.200} comes twice: as sample {first[1]} of {first[0]} and as sample {second[1]} of"
            f" {second[0]}; keys are unique in a dataset. Pack one of them under another name"
        )

    def __reduce__(self) -> tuple[type["DuplicateKey"], tuple[str, tuple[str, int], tuple[str, int]]]:
        return type(self), (self.key, self.first, self.second)


class SqliteIndexWriter:
    """Writes an `index.sqlite`. Call `finish` at the end, then `close`; a file without `finish` is to be removed.

    Args:
        path: path of a file that does not exist yet, on a local disk.
        shards: names of the shards, in the order of `.info.json`: the position of a shard is its `tar_file_id`.

    Raises:
        DataError: the file exists.

    >>> import numpy as np, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "index.sqlite"
    >>> samples = Samples(0, ["a"], np.array([0, 1024]), np.array([0]), ["txt"], np.array([512]), np.array([3]))
    >>> with closing(SqliteIndexWriter(path, ["shards/0.tar"])) as writer:
    ...     writer.add(0, samples)
    ...     writer.finish()
    >>> list(index_rows(path, "samples")), list(index_rows(path, "sample_parts"))
    ([(0, 'a', 0, 0, 1024)], [(0, 0, 'txt', 512, 3)])
    """

    def __init__(self, path: Path, shards: Sequence[str]) -> None:
        if path.exists():
            raise DataError(f"{path}: the index exists; remove it, or write to another file")
        self._shards = shards
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN; {_TABLES}")

    def add(self, tar_file_id: int, samples: Samples) -> None:
        """Adds samples of one shard. For fixed rows add the shards in order.

        Args:
            tar_file_id: position of the shard.
            samples: samples of the shard.

        Raises:
            DuplicateKey: one of their keys is in the index; the message names both places.
        """
        try:
            self._db.executemany(
                f"INSERT INTO samples VALUES ({tar_file_id:d}, ?, ?, ?, ?)",  # noqa: S608 - a number of ours
                samples.sample_rows(),
            )
        except sqlite3.IntegrityError as error:
            raise self._duplicate_key_error(tar_file_id, samples) from error
        self._db.executemany(
            f"INSERT INTO sample_parts VALUES ({tar_file_id:d}, ?, ?, ?, ?)",  # noqa: S608 - a number of ours
            samples.part_rows(),
        )

    def _duplicate_key_error(self, tar_file_id: int, samples: Samples) -> DuplicateKey:
        """The error for the first of these samples whose key another sample has."""
        for key, number, _, _ in samples.sample_rows():
            query = "SELECT tar_file_id, sample_index FROM samples WHERE sample_key = ?"
            shard, other = self._db.execute(query, (key,)).fetchone()
            if (shard, other) != (tar_file_id, number):
                break
        return DuplicateKey(key, (self._shards[shard], other), (self._shards[tar_file_id], number))

    def finish(self) -> None:
        """Makes the indexes of the tables, and commits."""
        self._db.executescript(f"BEGIN; {_INDEXES} COMMIT;")

    def close(self) -> None:
        """Closes the file. Without `finish` before it, the file is to be removed."""
        self._db.close()


def add_media_rows(path: Path, rows: Iterable[MediaRow], filters: Iterable[MediaFilter], created: str) -> None:
    """Adds media metadata to an index; what it says about the same entry, and the same filter, is replaced.

    Args:
        path: path of the index, on a local disk; made if it does not exist.
        rows: rows of the media files.
        filters: filters that selected them.
        created: the time that the filters get, UTC, such as `2025-01-01 12:00:00`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "index.sqlite"
    >>> rows = [MediaRow("a.png", "image", '{"width":8}')]
    >>> add_media_rows(path, rows, [MediaFilter("EXTENSION")], "2025-01-01 12:00:00")
    >>> list(index_rows(path, "media_metadata")), list(index_rows(path, "media_filters"))
    ([('a.png', 'image', '{"width":8}')], [('EXTENSION', '')])
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(f"PRAGMA journal_mode = DELETE; BEGIN; {_MEDIA_TABLES}")
        db.executemany("INSERT OR REPLACE INTO media_metadata VALUES (?, ?, ?)", rows)
        db.executemany(
            "INSERT OR IGNORE INTO media_filters (strategy, patterns, created_at_utc) VALUES (?, ?, ?)",
            [(each.strategy, each.patterns, created) for each in filters],
        )
        db.execute("COMMIT")


def index_tables(path: Path) -> frozenset[str]:
    """The names of the tables that an index has.

    Raises:
        DataError: the file is not a database.
    """
    return frozenset(str(row[0]) for row in _select_rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"))


def index_rows(path: Path, table: str) -> Iterator[tuple[str | int, ...]]:
    """The rows of a table in a fixed order. Numbers of filters and the times when they were made are left out.

    Args:
        path: path of the index.
        table: `samples`, `sample_parts`, `media_metadata` or `media_filters`.

    Raises:
        DataError: the file is not a database, or lacks the table or one of its columns.
    """
    return _select_rows(path, _ORDERED[table])


def media_rows(path: Path) -> Iterator[MediaRow]:
    """The media metadata of an index that has their table.

    Raises:
        DataError: as `index_rows`; or a value is no text.
    """
    for row in index_rows(path, "media_metadata"):
        if not all(isinstance(value, str) for value in row):
            raise DataError(f"{path}: the media metadata of {row[0]!r:.200} are not text; prepare the media again")
        yield MediaRow(*row)  # type: ignore[arg-type]


def missing_samples(path: Path, samples: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The samples that an index does not have.

    Args:
        path: path of the index.
        samples: `tar_file_id` and key of each.

    Raises:
        DataError: as `index_rows`.
    """
    with _open_for_reading(path) as db:
        for sample in samples:
            query = "SELECT 1 FROM samples WHERE tar_file_id = ? AND sample_key = ?"
            if db.execute(query, sample).fetchone() is None:
                yield sample


def compare_media(old: Path, new: Path) -> Iterator[tuple[MediaRow, bool]]:
    """The media metadata of an older index, each with whether the new index has the same part, of the same size.

    Args:
        old: an index with samples and media metadata.
        new: an index with samples.

    Raises:
        DataError: as `media_rows`.
    """
    query = """SELECT content_byte_size FROM samples JOIN sample_parts USING (tar_file_id, sample_index)
        WHERE sample_key = ? AND part_name = ? ORDER BY content_byte_size"""
    with _open_for_reading(old) as before, _open_for_reading(new) as now:
        for row in media_rows(old):
            name = split_name(row.entry_key) or ("", "")
            sizes = now.execute(query, name).fetchall()
            yield row, bool(sizes) and sizes == before.execute(query, name).fetchall()


def media_filters(path: Path) -> list[MediaFilter]:
    """The filters of an index that has their table.

    Raises:
        DataError: as `index_rows`; or a value is no text.
    """
    rows = [(strategy, patterns or "") for strategy, patterns in index_rows(path, "media_filters")]
    if not all(isinstance(value, str) for row in rows for value in row):
        raise DataError(f"{path}: a filter of its media is not text; prepare the media again")
    return [MediaFilter(*row) for row in rows]  # type: ignore[arg-type]


def _select_rows(path: Path, query: str) -> Iterator[tuple[str | int, ...]]:
    with _open_for_reading(path) as db:
        yield from db.execute(query)


@contextmanager
def _open_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)  # most bytes of a value
            if found := db.execute(_COMPUTED).fetchone():  # a view may have no end; a trigger changes what others write
                raise sqlite3.DatabaseError(f"it has the {found[0]}, and Energon's index has plain tables alone")
            yield db
    except sqlite3.Error as error:
        raise DataError(f"{path}: not an index that can be read: {error}; prepare the dataset again") from error


def sqlite_index_damage(path: Path) -> list[str]:
    """The damages that SQLite's own check finds in the file, and the tables and columns of samples that are absent.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "index.sqlite"
    >>> path.write_bytes(b"no database")
    11
    >>> sqlite_index_damage(path)
    ['file is not a database']
    """
    try:
        with _open_for_reading(path) as db:
            found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_DAMAGES})") if row[0] != "ok"]
            for table, columns in _COLUMNS.items():
                there = [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
                absent = [column for column in columns if column not in there]
                found += [f"table {table} lacks {', '.join(absent)}"] if there and absent else []
                found += [] if there else [f"it has no table {table}"]
            return found
    except DataError as error:
        return [str(error.__cause__)]


def absent_indexes(path: Path) -> list[str]:
    """The indexes of its tables that a file lacks: without them, each look-up reads a whole table.

    Raises:
        DataError: the file is not a database.
    """
    there = {str(row[0]) for row in _select_rows(path, "SELECT name FROM sqlite_master WHERE type = 'index'")}
    return [name for name in _INDEX_NAMES if name not in there]


def index_digest(path: Path) -> str:
    """The digest of the rows of an index: two indexes with the same rows have the same one.

    Returns:
        SHA-256 in hex.

    Raises:
        DataError: as `index_rows`.
    """
    digest = hashlib.sha256()
    tables = index_tables(path)
    for table in _ORDERED:
        if table in tables:
            digest.update(orjson.dumps([table]))
            for row in index_rows(path, table):
                try:
                    digest.update(orjson.dumps(row))
                except orjson.JSONEncodeError as error:
                    raise DataError(f"{path}: a row of {table} is not valid: {error}; prepare it again") from error
    return digest.hexdigest()


def index_schema(path: Path) -> list[str]:
    """The declarations of the tables and indexes of a file, in a fixed order.

    Raises:
        DataError: the file is not a database.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY sql"
    return [str(row[0]) for row in _select_rows(path, query)]


def index_uuid(digest: str) -> str:
    """The text of `index.uuid`: a UUID that the digest of the index gives, without a line feed.

    Args:
        digest: SHA-256 in hex.

    >>> index_uuid("00" * 32)
    '00000000-0000-4000-8000-000000000000'
    """
    return str(uuid.UUID(bytes=bytes.fromhex(digest)[:16], version=4))
