"""Makes `index.sqlite` of the rows of walked shards, on this machine."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from gristmill.energon.formats.media import MediaRow
from gristmill.energon.formats.sqlite_index import (
    SELECTED,
    DuplicateKey,
    SqliteIndexWriter,
    add_media_rows,
    compare_media,
    index_tables,
    media_filters,
    media_rows,
)
from gristmill.energon.preparing.dataset import INDEX, meta_path
from gristmill.energon.preparing.flaw import Flaw
from gristmill.energon.preparing.shards import WalkedShard, kept_rows
from gristmill.errors import DataError

_MOST_DUPLICATES = 20


def build_index(path: Path, shards: Sequence[WalkedShard]) -> list[Flaw]:
    """Writes the samples and the parts of all shards into a new index.

    Args:
        path: path of the index.
        shards: shards in the order of their ids.

    Returns:
        Keys that occur twice, each with both places. If there is one, the index is not complete.
    """
    flaws: list[Flaw] = []
    with closing(SqliteIndexWriter(path, [shard.shard for shard in shards])) as writer:
        for number, shard in enumerate(shards):
            for samples, _ in kept_rows(Path(shard.rows)):
                try:
                    writer.add(number, samples)
                except DuplicateKey as error:
                    flaws.append(_duplicate_key_flaw(error))
                    if len(flaws) == _MOST_DUPLICATES:
                        return flaws
        if not flaws:
            writer.finish()
    return flaws


def drop_absent_samples(new: Path, old: Path, left_out: Iterable[str], shards: Sequence[str]) -> None:
    """Removes from an index those samples that are left out, and that an older index lacks.

    Args:
        new: the index.
        old: the older one.
        left_out: shards, and samples as `shard/key`.
        shards: names of the shards in the order of their ids.

    Raises:
        DataError: the older index cannot be read.
    """
    ids = {shard: number for number, shard in enumerate(shards)}
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        try:
            db.execute("ATTACH ? AS old", (str(old),))
            db.execute("BEGIN")
            for path in left_out:
                shard, ending, key = path.partition(".tar/")
                number = ids.get(f"{shard}.tar" if ending else path, -1)
                for row in db.execute(_ABSENT, (number, key, key)).fetchall():
                    db.execute("DELETE FROM main.samples WHERE (tar_file_id, sample_index) = (?, ?)", row)
                    db.execute("DELETE FROM main.sample_parts WHERE (tar_file_id, sample_index) = (?, ?)", row)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise DataError(f"{meta_path(INDEX)}: not an index that can be read: {error}") from error


_ABSENT = """
SELECT tar_file_id, sample_index FROM main.samples WHERE tar_file_id = ? AND (? = '' OR sample_key = ?)
    AND sample_key NOT IN (SELECT sample_key FROM old.samples)
"""


def _duplicate_key_flaw(error: DuplicateKey) -> Flaw:
    (shard, number), (other, second) = error.first, error.second
    what = f"its key occurs twice: here as sample {number}, and in {other} as sample {second}"
    return Flaw(shard, what, "pack one of them under another name", f"sample {error.key!r}")


def media_rows_of_shards(shards: Sequence[WalkedShard]) -> Iterator[MediaRow]:
    """The rows of the media of all shards."""
    for shard in shards:
        for _, media in kept_rows(Path(shard.rows)):
            yield from media


def copy_older_media_rows(old: Path, path: Path) -> list[Flaw]:
    """Takes over the media metadata of an older index, if it has any. Those of parts that are gone are left out.

    Args:
        old: the older index.
        path: the new one.

    Returns:
        A warning, if some were left out.

    Raises:
        DataError: the older index cannot be read.
    """
    if not {"media_metadata", "media_filters"} <= index_tables(old):
        return []
    gone = dict.fromkeys(row.entry_key for row, same in compare_media(old, path) if not same)
    add_media_rows(path, (row for row in media_rows(old) if row.entry_key not in gone), media_filters(old), SELECTED)
    if not gone:
        return []
    what = f"metadata of {len(gone):,} media were left out: {next(iter(gone))!r} is gone or has another size"
    return [Flaw(meta_path(INDEX), what, "if it was replaced, run prepare-media", warning=True)]


def media_flaws(old: Path, new: Path) -> Iterator[Flaw]:
    """A warning if an index has media metadata of parts that no tar has.

    Args:
        old: the index of the dataset.
        new: the one that was made of the tars.

    Raises:
        DataError: the index of the dataset cannot be read.
    """
    if "media_metadata" not in index_tables(old):
        return
    with as_index_of_dataset(old):
        gone = [row.entry_key for row, same in compare_media(old, new) if not same]
    if gone:
        what = f"it has metadata of {len(gone):,} media that are in no tar, such as {gone[0]!r}"
        yield Flaw(meta_path(INDEX), what, "run prepare with --tar-index-only", warning=True)


@contextmanager
def as_index_of_dataset(copy: Path) -> Iterator[None]:
    """Lets an error about a copy of an index name the index of the dataset, for nobody finds the copy.

    Args:
        copy: path of the copy on this machine.

    Raises:
        DataError: the error, with the other name.
    """
    try:
        yield
    except DataError as error:
        raise DataError(str(error).replace(str(copy), meta_path(INDEX))) from error
