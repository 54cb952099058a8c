import re
from dataclasses import replace
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill, make_documents

from gristmill.errors import DataError
from gristmill.lake.address import raw_folder
from gristmill.lake.store.folder import FolderStore
from gristmill.raw_data.listing import list_raw, raw_names_by_shard
from gristmill.raw_data.scan import present_snapshots, scan_raw
from gristmill.recipes.source import Everything, Folders, Matching


def test_two_raw_objects_of_one_shard_are_an_error_that_names_both(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(1))
    mill.raw("a.json.gz", make_documents(1))
    with pytest.raises(DataError, match=r"^\S+/2024/a\.json\.gz and \S+/2024/a\.jsonl\.gz would both become a\.jsonl"):
        mill.convert()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a%b.jsonl"], "{top}odd/a%b.jsonl: shard 'a%b': each part of a shard's name is"),
        (["a.json", "a.json.gz"], "{top}odd/a.json and {top}odd/a.json.gz would both become a.jsonl.gz; rename"),
        (["00.json/b", "00"], "{top}odd/00.json/b would need a folder where {top}odd/00 has a file; rename one of"),
    ],
)
def test_a_bad_name_is_told_with_its_whole_path(mill: Mill, tmp_path: Path, names: list[str], words: str) -> None:
    elsewhere = FolderStore(str(tmp_path / "elsewhere"))
    for name in names:
        mill.raw(name, b"", snapshot="odd")
        elsewhere.put(f"odd/{name}", b"")
    for source, store, top in (
        (mill.source(), mill.store, raw_folder("pages")),
        (replace(mill.source(), raw=elsewhere.url), elsewhere, f"{elsewhere.url}/"),
    ):
        with pytest.raises(DataError, match=f"^{re.escape(words.format(top=top))}"):
            raw_names_by_shard(source, list_raw(source, store, "odd"))


def test_hidden_files_and_what_the_source_does_not_select_are_left(mill: Mill) -> None:
    for name in ("a.jsonl.gz", ".hidden.jsonl.gz", ".git/a.jsonl.gz", "readme.md"):
        mill.raw(name, make_documents(1))
    source = replace(mill.source(), select=r"\.jsonl\.gz$")
    assert list(list_raw(source, mill.store, SNAPSHOT).entries) == ["a.jsonl.gz"]


@pytest.mark.parametrize(
    ("rule", "snapshots"),
    [
        (Folders(), {"2023": 1, "2024": 2}),
        (Folders(2), {"2023.en": 1, "2024.en": 1, "2024.fr": 1}),
        (Matching(r"^\d+/(?P<snapshot>[a-z]+)/"), {"en": 2, "fr": 1}),
        (Everything(), {"all": 4}),
    ],
)
def test_snapshots_are_found_by_the_sources_rule(
    mill: Mill, rule: Folders | Matching | Everything, snapshots: dict[str, int]
) -> None:
    for name in ("2023/en/a.txt", "2024/en/a.txt", "2024/fr/a.txt", "lonely.txt"):
        mill.store.put(raw_folder("pages") + name, b"")
    source = replace(mill.source(), partition=rule)
    found = scan_raw(source, mill.store)
    assert {key: each.objects for key, each in present_snapshots(source, found).items()} == snapshots
    assert found.invalid == {}
    listed = {key: list(list_raw(source, mill.store, key).entries) for key in snapshots}
    assert {key: len(names) for key, names in listed.items()} == snapshots


def test_raw_data_elsewhere_are_read_and_never_written(mill: Mill, tmp_path: Path) -> None:
    elsewhere = FolderStore(str(tmp_path / "elsewhere"))
    elsewhere.put("2024/a.jsonl", b'{"id":"a","text":"t"}\n')
    source = replace(mill.source(), raw=elsewhere.url)
    assert list(list_raw(source, elsewhere, SNAPSHOT).entries) == ["a.jsonl"]
    assert raw_names_by_shard(source, list_raw(source, elsewhere, SNAPSHOT)) == {"a": ["a.jsonl"]}
