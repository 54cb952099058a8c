"""What a grinder writes while shards are derived again: what is known of its rows, and that they are not kept."""

from pathlib import Path

from gristmill.derivation.scratch_lake import ScratchStore
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.folder import FolderStore

ROWS = b'{"id":"a"}\n{"id":"b"}\n'


def test_rows_that_are_not_kept_have_the_digest_of_those_that_are(tmp_path: Path) -> None:
    lake, scratch = FolderStore(str(tmp_path / "lake")), FolderStore(str(tmp_path / "scratch"))
    store = ScratchStore(lake, scratch, ("documents/",))
    known = []
    for path in ("documents/a.jsonl.gz", "others/a.jsonl.gz"):
        writer = ShardWriter(store, path)
        writer.write(ROWS)
        written = writer.close()
        known.append((written.rows, written.length, written.content))
    assert known == [(2, 22, written.content)] * 2
    assert [entry.path for entry in scratch.list("")] == ["others/a.jsonl.gz"]
    assert not (tmp_path / "lake").exists()
