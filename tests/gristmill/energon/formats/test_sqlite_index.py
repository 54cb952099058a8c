import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gristmill.energon.formats.media import MediaFilter, MediaRow
from gristmill.energon.formats.sqlite_index import (
    SELECTED,
    DuplicateKey,
    SqliteIndexWriter,
    add_media_rows,
    index_digest,
    index_rows,
    index_tables,
    index_uuid,
    media_filters,
    media_rows,
    sqlite_index_damage,
)
from gristmill.errors import DataError
from gristmill.formats.tar.samples import Samples

NEW_YEAR = "2025-01-01 12:00:00"
SHARDS = ["shards/0.tar", "shards/1.tar"]


def samples(*keys: str, first: int = 0) -> Samples:
    """Samples of one part each, a block of header and a block of content."""
    count = len(keys)
    starts = np.arange(first, first + count + 1) * 1024
    numbers = np.arange(first, first + count)
    return Samples(first, list(keys), starts, numbers, ["txt"] * count, starts[:-1] + 512, numbers + 1)


def written(path: Path, *shards: Samples) -> Path:
    with closing(SqliteIndexWriter(path, SHARDS)) as writer:
        for number, shard in enumerate(shards):
            writer.add(number, shard)
        writer.finish()
    return path


def test_rows_come_back_in_the_order_of_the_shards(tmp_path: Path) -> None:
    path = written(tmp_path / "index.sqlite", samples("b", "a"), samples("c"))
    assert list(index_rows(path, "samples")) == [(0, "b", 0, 0, 1024), (0, "a", 1, 1024, 1024), (1, "c", 0, 0, 1024)]
    assert list(index_rows(path, "sample_parts")) == [
        (0, 0, "txt", 512, 1),
        (0, 1, "txt", 1536, 2),
        (1, 0, "txt", 512, 1),
    ]
    assert index_tables(path) == {"samples", "sample_parts"}


def test_the_file_has_the_indexes_of_the_real_tool_and_no_log_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path / "index.sqlite", samples("a"))
    with closing(sqlite3.connect(path)) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert names == {
        "sqlite_autoindex_samples_1",
        "idx_samples_by_tar_and_idx",
        "idx_sample_parts_seq",
        "idx_sample_parts_full",
    }
    assert [file.name for file in tmp_path.iterdir()] == ["index.sqlite"]


def test_the_same_rows_give_the_same_digest_and_the_same_file(tmp_path: Path) -> None:
    one = written(tmp_path / "1", samples("a", "b"), samples("c"))
    two = written(tmp_path / "2", samples("a", "b"), samples("c"))
    other = written(tmp_path / "3", samples("a"), samples("b", "c"))
    assert index_digest(one) == index_digest(two) != index_digest(other)
    assert one.read_bytes() == two.read_bytes()
    assert index_uuid(index_digest(one)) == index_uuid(index_digest(two))
    assert len(index_uuid(index_digest(one))) == 36


def test_a_key_that_comes_twice_is_named_with_both_places(tmp_path: Path) -> None:
    with closing(SqliteIndexWriter(tmp_path / "index.sqlite", SHARDS)) as writer:
        writer.add(0, samples("a", "b"))
        writer.add(1, samples("c"))
        with pytest.raises(DuplicateKey) as caught:
            writer.add(1, samples("d", "b", first=1))
    assert (caught.value.key, caught.value.first, caught.value.second) == ("b", (SHARDS[0], 1), (SHARDS[1], 2))
    assert "as sample 1 of shards/0.tar and as sample 2 of shards/1.tar" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_key_that_comes_twice_in_one_batch_is_named(tmp_path: Path) -> None:
    with (
        closing(SqliteIndexWriter(tmp_path / "index.sqlite", SHARDS)) as writer,
        pytest.raises(DuplicateKey, match=r"as sample 0 of shards/0\.tar and as sample 2 of shards/0\.tar"),
    ):
        writer.add(0, samples("a", "b", "a"))


def test_an_index_that_exists_is_not_written_over(tmp_path: Path) -> None:
    path = written(tmp_path / "index.sqlite", samples("a"))
    with pytest.raises(DataError, match="exists"):
        SqliteIndexWriter(path, SHARDS)


def test_media_are_added_and_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "index.sqlite", samples("a"))
    before = index_digest(path)
    first, second = MediaFilter("GLOB", "*.png"), MediaFilter("HEADER")
    add_media_rows(path, [MediaRow("a.png", "image", "{}"), MediaRow("b.png", "image", "{}")], [first], NEW_YEAR)
    add_media_rows(path, [MediaRow("a.png", "image", '{"width":8}')], [first, second], "2025-01-02 12:00:00")
    assert list(index_rows(path, "media_metadata")) == [("a.png", "image", '{"width":8}'), ("b.png", "image", "{}")]
    assert list(index_rows(path, "media_filters")) == [("GLOB", "*.png"), ("HEADER", "")]
    assert index_digest(path) != before
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT created_at_utc FROM media_filters").fetchone() == (NEW_YEAR,)


def test_what_is_no_index_is_named(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(DataError, match=r"index\.sqlite: not an index"):
        index_digest(path)
    with pytest.raises(DataError, match="unable to open"):
        index_digest(tmp_path / "absent")
    empty = tmp_path / "empty"
    add_media_rows(empty, [], [], NEW_YEAR)
    with pytest.raises(DataError, match="no such table: samples"):
        list(index_rows(empty, "samples"))


def test_media_metadata_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE media_metadata (entry_key, metadata_type, metadata_json);"
            "CREATE TABLE media_filters (strategy, patterns);"
            "INSERT INTO media_metadata VALUES (x'ff', NULL, 3.5); INSERT INTO media_filters VALUES (NULL, NULL);"
        )
    with pytest.raises(DataError, match="are not text"):
        list(media_rows(path))
    with pytest.raises(DataError, match="is not text"):
        media_filters(path)
    with pytest.raises(DataError, match="a row of media_metadata is not valid"):
        index_digest(path)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
            "view 'v'",
        ),
        ("CREATE TRIGGER t AFTER INSERT ON media_metadata BEGIN DELETE FROM media_metadata; END", "trigger 't'"),
        ("ALTER TABLE samples ADD COLUMN x TEXT AS (hex(zeroblob(100000000)))", "computed column 'x'"),
        ("CREATE VIRTUAL TABLE f USING fts5(x)", "table 'f'"),
    ],
)
def test_an_index_that_computes_is_not_read(tmp_path: Path, made: str, named: str) -> None:
    path = tmp_path / "index.sqlite"
    with closing(SqliteIndexWriter(path, ["a.tar"])) as writer:
        writer.finish()
    add_media_rows(path, [], [], SELECTED)
    assert sqlite_index_damage(path) == []
    with closing(sqlite3.connect(path)) as db:
        db.execute(made)
    assert sqlite_index_damage(path) == [f"it has the {named}, and Energon's index has plain tables alone"]
    with pytest.raises(DataError, match=named):
        list(index_rows(path, "samples"))


def test_a_value_of_more_than_64_mib_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    add_media_rows(path, [], [], SELECTED)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO media_metadata VALUES ('big', 'image', zeroblob((64 << 20) + 1))")
    with pytest.raises(DataError, match="string or blob too big"):
        list(index_rows(path, "media_metadata"))
