from gristmill.lake.store.protocol import Entry
from gristmill.maintenance.folder_objects import FolderObjects


def test_a_folder_has_the_size_of_its_objects() -> None:
    found = FolderObjects("exports/a/index/release-0a/")
    assert (found.name, found.bytes) == ("release-0a", 0)
    found.entries += [Entry(path, size, "") for path, size in (("a", 3), ("b", 4))]
    assert found.bytes == 7
