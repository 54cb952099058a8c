"""What releases name, which `gc` keeps: also in escapes, and never guessed from a file that is damaged."""

import pytest
from releasekit import write_whole
from testkit import Mill
from wholelake import CACHE

from gristmill.errors import DataError
from gristmill.lake.address import part_at
from gristmill.releases.pins import pinned_by_releases


def test_the_files_of_releases_name_parts_and_releases_of_exports(whole: Mill) -> None:
    assert pinned_by_releases(whole.store) == {}
    whole.store.put("releases/notes.json", b'{"a": ["part-00001-0a", "exports/a/index/release\\u002d1f/", "part-x"]}')
    whole.store.put("releases/more.json", b'{"a": "metadataset-2e.yaml of part-00001-0a"}')
    whole.store.put("releases/notes.txt", b"part-00009-0a")
    assert pinned_by_releases(whole.store) == {
        "part-00001-0a": ["releases/more.json", "releases/notes.json"],
        "release-1f": ["releases/notes.json"],
        "metadataset-2e.yaml": ["releases/more.json"],
    }


def test_a_release_names_the_part_of_its_cache(whole: Mill) -> None:
    write_whole(whole)
    (folder,) = {part[1] for entry in whole.store.list(f"{CACHE.asset}/train/") if (part := part_at(entry.path))}
    assert "releases/first.json" in pinned_by_releases(whole.store)[folder.rstrip("/").rpartition("/")[2]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": "part-00001-0a"', "not valid JSON"),
        (b'{"digest": "0", "a": "part-00001-0a"}', "releases/a.json: "),
        (b"[" * 400 + b'"part-00001-0a"' + b"]" * 400, r"releases/a\.json: not valid JSON \(Recursion limit"),
    ],
)
def test_a_file_that_is_damaged_is_an_error_unless_it_is_only_told_of(whole: Mill, data: bytes, words: str) -> None:
    whole.store.put("releases/a.json", data)
    with pytest.raises(DataError, match=words):
        pinned_by_releases(whole.store)
    assert pinned_by_releases(whole.store, damaged=True) == {"part-00001-0a": ["releases/a.json"]}
