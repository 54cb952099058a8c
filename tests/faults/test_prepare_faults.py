"""`gristmill energon prepare` is killed, has no room, may not write: nothing is lost, and the next run completes it.

Whenever `.info.json` is there, all indexes are those of one preparation: a loader never sees half of one.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dying import Child, deaths
from mediafiles import image
from tarfolder import contents, write_shards, write_tar

from gristmill.__main__ import main
from gristmill.energon.formats.info import INFO
from gristmill.energon.preparing.dataset import meta_path, open_dataset
from gristmill.energon.preparing.files import lock_folder

RATIO = ("--split-ratio", "2,1,1", "--num-workers", "1", "--no-progress")

FAILED = 2
"""Exit code of a command whose files cannot be written."""

Files = dict[str, bytes]


def prepare(path: Path, *words: str) -> int:
    return main(["energon", "prepare", str(path), *words])


def prepare_again(path: Path, *words: str) -> int:
    return prepare(path, *RATIO, "--force-overwrite", *words)


def place(folder: Path, files: Files) -> None:
    """Makes a folder hold these files alone."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def left(folder: Path) -> Files:
    """All files but those of killed writers."""
    return {name: data for name, data in contents(folder).items() if not name.startswith(".incoming/")}


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> list[Files]:
    """A folder of two tars; the same prepared; with one tar changed and one more; that prepared."""
    folder = tmp_path_factory.mktemp("editions") / "tars"
    write_shards(folder, 2)
    made = [contents(folder)]
    assert prepare_again(folder) == 0
    made.append(contents(folder))
    write_tar(folder / "shards" / "0.tar", {"other.txt": b"1", "other.json": b"2"})
    write_shards(folder / "more", 1)
    made.append(contents(folder))
    assert prepare_again(folder) == 0
    return [*made, contents(folder)]


@pytest.mark.parametrize(
    ("edition", "every"),
    [(2, 15), pytest.param(0, 1, marks=pytest.mark.slow), pytest.param(2, 1, marks=pytest.mark.slow)],
)
def test_a_preparation_may_die_before_each_of_its_changes(
    tmp_path: Path, editions: list[Files], edition: int, every: int
) -> None:
    before, after = editions[edition : edition + 2]
    folder = tmp_path / "tars"
    died = 0
    for died in deaths(folder, lambda: prepare_again(folder), lambda: place(folder, before), every):
        found = left(folder)
        assert meta_path(INFO) not in found or found in (before, after), f"half of a preparation at change {died}"
        assert {name: data for name, data in found.items() if name.endswith(".tar")} == {
            name: data for name, data in before.items() if name.endswith(".tar")
        }
        assert prepare_again(folder) == 0
        assert contents(folder) == after
    assert died > 10


@pytest.mark.slow
def test_media_and_json_lines_may_die_before_each_of_their_changes(tmp_path: Path) -> None:
    folder = tmp_path / "tars"
    write_tar(folder / "0.tar", {"a.png": image(width=9), "b.png": image(height=9)})
    assert prepare(folder, "--split-ratio", "1,0,0") == 0
    prepared = contents(folder)
    tools: list[tuple[Files, Callable[[], int]]] = [
        (
            prepared,
            lambda: main(["energon", "prepare-media", str(folder), "--media-by-extension", "--num-workers", "1"]),
        ),
        ({"a.jsonl": b'{"n": 1}\n', "a.jsonl.idx": b"old"}, lambda: prepare(folder / "a.jsonl")),
    ]
    for before, work in tools:
        place(folder, before)
        whole = work()
        after = contents(folder)
        died = []
        for number in deaths(folder, work, lambda before=before: place(folder, before)):  # type: ignore[misc]
            died.append(number)
            assert left(folder) in (before, after)
            assert (work(), contents(folder)) == (whole, after)
        assert len(died) > 2


def test_a_second_preparation_is_refused_while_one_is_under_way(tmp_path: Path, editions: list[Files]) -> None:
    """Two that saw other tars would leave the index of one with the counts of the other."""
    folder = tmp_path / "tars"
    place(folder, editions[1])
    store = open_dataset(str(folder), {}).open_dataset_store()
    with lock_folder(store):
        for words in (("prepare", *RATIO, "--force-overwrite"), ("prepare-media", "--media-by-extension")):
            child = Child(lambda words=words: main(["energon", words[0], str(folder), *words[1:]]), folder)  # type: ignore[misc]
            assert child.wait() == FAILED
            assert f"{folder}: another process is preparing this folder; wait until it has ended" in child.words
    assert contents(folder) == editions[1]
    assert prepare_again(folder) == 0


@pytest.mark.parametrize("largest", [20, pytest.param(20_000, marks=[pytest.mark.slow])], ids=["rows", "index"])
def test_temporary_files_that_may_not_grow_are_said_and_nothing_changes(
    tmp_path: Path, editions: list[Files], largest: int
) -> None:
    folder = tmp_path / "tars"
    place(folder, editions[2])
    child = Child(lambda: prepare_again(folder), folder, largest=largest)
    assert (child.wait(), contents(folder)) == (FAILED, editions[2]), child.words
    assert "a temporary file cannot be written (" in child.words
    assert "give another folder with --tmp-path" in child.words
    assert "Traceback" not in child.words


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(folder, "size=1m")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def mount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which takes root")
def test_a_full_disk_is_said_and_once_there_is_room_nothing_is_lost(disk: Path, editions: list[Files]) -> None:
    folder = disk / "tars"
    (disk / "tmp").mkdir()
    failed = 0
    for number in range(16):
        options = ("--tmp-path", str(disk / "tmp")) if number % 2 else ()  # then the index takes room twice
        place(folder, editions[2])
        fill(disk, room=number << 13)
        child = Child(lambda options=options: prepare_again(folder, *options), folder)  # type: ignore[misc]
        code = child.wait()
        assert code in {0, FAILED}, child.words
        assert code == 0 or "space" in child.words or "full" in child.words, child.words
        failed += code != 0
        assert meta_path(INFO) not in left(folder) or left(folder) in (editions[2], editions[3])
        (disk / "ballast").unlink()
        assert prepare_again(folder) == 0
        assert contents(folder) == editions[3]
        assert list((disk / "tmp").iterdir()) == []
    assert 2 < failed < 16


def fill(disk: Path, room: int) -> None:
    """Leaves so many bytes of a disk."""
    found = os.statvfs(disk)
    with (disk / "ballast").open("wb") as ballast:
        ballast.write(b"\0" * (found.f_bavail * found.f_frsize - room))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a disk is mounted to be read alone, which takes root")
def test_a_folder_that_may_only_be_read_is_said(disk: Path, editions: list[Files]) -> None:
    folder = disk / "tars"
    place(folder, editions[2])
    mount(disk, "remount,ro")
    child = Child(lambda: prepare_again(folder), folder)
    assert child.wait() == FAILED
    assert "Read-only file system" in child.words
    assert "Traceback" not in child.words
    assert contents(folder) == editions[2]
    assert main(["energon", "info", str(folder)]) == 0
    mount(disk, "remount,rw")
    assert prepare_again(folder) == 0
    assert contents(folder) == editions[3]
