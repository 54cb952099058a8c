"""The names that a format of a package gives to its files."""

import json
from pathlib import Path

import pytest
from songs import Songs

INDEX = "lake/exports/songs/titles/index"

EACH_NAME = """
from gristmill.errors import DataError
from gristmill.recipes.export_formats.codec import Release, ReleaseFile
from gristmill.stages.export.release import check_small_files
from millextras.titles import Titles, TitlesCodec

for large, small in %r:
    TitlesCodec.beside = lambda codec, release, sha256: {small: b""}
    files = tuple(ReleaseFile.joined(name, ()) for name in large)
    try:
        check_small_files(Release(1, {}, "exports/songs/titles/index/release-1f/", files), Titles())
    except DataError as error:
        print(str(error).removeprefix("exports/songs/titles/index/").partition("; nothing was written")[0])
    else:
        print("taken")
"""


@pytest.fixture
def songs(tmp_path: Path) -> Songs:
    return Songs(tmp_path)


def test_each_file_of_a_release_has_a_name_of_its_own(songs: Songs) -> None:
    """For the large file `t`, unless two are given."""
    given = " of the format 'titles' gives this name, but "
    own = f": beside(){given}the index keeps this name for a file of its own"
    told = {
        "release-1f/sums": "taken",
        "README": "taken",
        "release-1f/t": f"release-1f/t: beside(){given}the release has two files of this name",
        "index.json": f"index.json{own}",
        "ledger.json": f"ledger.json{own}",
        "release.json": f"release.json{own}",
        "writing.json": f"writing.json{own}",
        "release-2e/t": f"release-2e/t: beside(){given}the folder of the release is release-1f/",
        "release-1f": f"release-1f: beside(){given}the folder of the release is release-1f/",
        "release-1f/t/sums": f"release-1f/t/sums: beside(){given}its folder is a file of the index",
        "release-1f/../t": f"release-1f/../t: beside(){given}this is no path below the folder of the index",
        "./index.json": f"./index.json: beside(){given}this is no path below the folder of the index",
        "/t": f"/t: beside(){given}this is no path below the folder of the index",
    }
    code, said = songs.python(EACH_NAME % [*((("t",), name) for name in told), (("t", "t"), "README")])
    twice = f"release-1f/t: release(){given}the release has two files of this name"
    assert (code, said.splitlines()) == (0, [*told.values(), twice])


def test_a_release_whose_small_file_would_replace_its_large_one_is_not_written(songs: Songs) -> None:
    songs.edit("titles.py", "name}SHA256", "name}titles.txt.gz")
    code, said = songs.run("make", "songs")
    wrong = "titles.txt.gz: beside() of the format 'titles' gives this name, but the release has two files of this name"
    assert (code, wrong in said, "up to date" in said) == (1, True, False), said
    assert list((songs.top / INDEX).rglob("*")) == []


def test_a_format_that_does_not_give_the_same_again_is_told_by_the_run_that_made_it(songs: Songs) -> None:
    songs.edit("titles.py", "{name}\\n", "{name} {__import__('time').time_ns()}\\n")
    code, said = songs.run("make", "songs")
    assert (code, "SHA256 should have another content" in said, "up to date" in said) == (1, True, False), said
    assert "is due again at once" in said


@pytest.mark.parametrize(
    ("name", "what"),
    [("part.json", "the list of the part's files"), ("twice", "a file that the format has opened already")],
)
def test_a_file_of_a_part_is_opened_once_and_is_not_its_list(songs: Songs, name: str, what: str) -> None:
    edited = "create('twice').close(); super().__init__(create); create(NAME)".replace("NAME", repr(name))
    songs.edit("titles.py", "super().__init__(create)", edited)
    code, said = songs.run("make", "songs")
    assert (code, f"/{name}: the format opens {what}; mend its codec" in said) == (1, True), said
    heads = [json.loads(each.read_text()) for each in (songs.top / "lake/exports").rglob("ledgers/*/1.json")]
    assert heads == []
