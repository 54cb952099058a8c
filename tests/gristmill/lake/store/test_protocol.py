from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import put_unless_same


def test_an_object_is_written_only_where_its_bytes_differ(lake: FolderStore) -> None:
    put_unless_same(lake, "a/b", b"one")
    before = lake.head("a/b")
    put_unless_same(lake, "a/b", b"one")
    assert lake.head("a/b") == before
    put_unless_same(lake, "a/b", b"two")
    assert lake.read("a/b") == b"two"
    assert lake.head("a/b") != before
