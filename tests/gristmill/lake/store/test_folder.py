import fcntl
import multiprocessing
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from steered import before

from gristmill.errors import Conflict, StoreError
from gristmill.lake.store.folder import INCOMING, LASTING, LOCK, FolderStore
from gristmill.lake.store.protocol import PIECE


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    (tmp_path / "lake").mkdir()
    return FolderStore(str(tmp_path / "lake"))


def incoming(store: FolderStore) -> list[str]:
    top = Path(store.url) / INCOMING
    return [file.name for file in top.iterdir()] if top.is_dir() else []


def test_a_missing_lake_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no lake"):
        list(FolderStore(str(tmp_path / "nowhere")).list("sources/"))


def test_a_folder_that_cannot_be_listed_is_an_error_and_not_an_empty_one(folder: FolderStore) -> None:
    loop = Path(folder.url) / "a"
    loop.symlink_to(loop)
    with pytest.raises(StoreError, match="a"):
        list(folder.list(""))


def test_a_link_to_nowhere_is_an_error_and_not_left_out(folder: FolderStore, tmp_path: Path) -> None:
    raw = "sources/pages/raw/2024"
    folder.put(f"{raw}/a", b"1")
    (Path(folder.url) / raw / "b").symlink_to(tmp_path / "unmounted")
    with pytest.raises(StoreError, match=f"{raw}/b: the target of this link does not exist"):
        list(folder.list(""))


def test_empty_folders_go_with_their_last_object(folder: FolderStore) -> None:
    folder.put("a/b/c/d", b"1")
    folder.put("a/e", b"1")
    folder.delete(["a/b/c/d"])
    assert [file.name for file in (Path(folder.url) / "a").iterdir()] == ["e"]


def test_a_lake_below_a_file_is_a_store_error_with_a_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = FolderStore(str(tmp_path / "file" / "lake"))
    verbs: tuple[Callable[[], object], ...] = (
        lambda: store.put("a", b""),
        lambda: store.put_if("a", b"", None),
        lambda: store.upload("a"),
        lambda: list(store.list("")),
    )
    for verb in verbs:
        with pytest.raises(StoreError, match=r"a file has the place of a folder|there is no lake"):
            verb()


def mounted(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)):
        pytest.skip("mounting is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_a_store_error_that_leaves_nothing_and_says_what_to_do(small_disk: Path) -> None:
    store = FolderStore(str(small_disk))
    store.put("before", b"1")
    upload = store.upload("a/b")
    with pytest.raises(StoreError, match=r"a/b: No space left on device \(free some space and run again\)"):
        upload.write(bytes(2 << 20))
    assert [entry.path for entry in store.list("")] == ["before"]
    assert incoming(store) == []
    store.put("after", bytes(500_000))


def test_a_read_only_lake_is_read_and_its_writing_is_a_store_error(small_disk: Path) -> None:
    store = FolderStore(str(small_disk))
    store.put("a", b"1")
    store.put_if("b", b"1", None)
    if not mounted("-o", "remount,ro", str(small_disk)):
        pytest.skip("mounting is not permitted here")
    assert store.read("a") == b"1"
    assert [entry.path for entry in store.list("")] == ["a", "b"]
    verbs: tuple[Callable[[], object], ...] = (
        lambda: store.put("a", b"2"),
        lambda: store.upload("c"),
        lambda: store.put_if("c", b"", None),
        lambda: store.delete(["a"]),
    )
    for verb in verbs:
        with pytest.raises(StoreError, match=r"Read-only file system .mount the lake's folder writable"):
            verb()


def test_a_file_that_grows_too_large_is_a_store_error(folder: FolderStore) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    upload = folder.upload("a")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(StoreError, match="a: File too large"):
            upload.write(bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert incoming(folder) == []


def contend(url: str, rounds: int, name: int, wins: "multiprocessing.Queue[tuple[int, int]]") -> None:
    """Counts a number up by compare-and-swap, and removes what lies beside it, as runs do."""
    store = FolderStore(url)
    done = 0
    while done < rounds:
        found = store.read_tagged("race/count")
        count = int(found[0]) if found else 0
        try:
            store.put_if("race/count", b"%d" % (count + 1), found[1] if found else None)
        except Conflict:
            continue
        done += 1
        wins.put((count, name))
        store.put(f"race/beside/{name}", b"")
        store.delete([f"race/beside/{name}"])


@pytest.mark.slow
def test_of_three_processes_exactly_one_wins_each_round(folder: FolderStore) -> None:
    context = multiprocessing.get_context("spawn")
    wins: multiprocessing.Queue[tuple[int, int]] = context.Queue()
    team = [context.Process(target=contend, args=(folder.url, 30, name, wins)) for name in range(3)]
    for process in team:
        process.start()
    won = sorted(wins.get(timeout=60)[0] for _ in range(90))
    for process in team:
        process.join()
    assert won == list(range(90))
    assert folder.read("race/count") == b"90"


def test_objects_and_sweeps_and_vanishing_folders_do_not_hinder_each_other(folder: FolderStore) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(name: int) -> None:
        store = FolderStore(folder.url)
        for number in range(60):
            store.put(f"a/b/{name}", b"%d" % number)
            assert store.read(f"a/b/{name}") == b"%d" % number
            store.sweep()
            store.delete([f"a/b/{name}"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert list(folder.list("")) == []


def test_a_compare_and_swap_holds_the_lock_from_its_look_to_its_rename(folder: FolderStore) -> None:
    etag = folder.put("a", b"1").etag
    held: list[bool] = []

    def try_lock() -> None:
        with (Path(folder.url) / LOCK).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(True)

    before(folder, "head", "a", try_lock)
    folder.put_if("a", b"2", etag)
    assert held == [True]


def etag(store: FolderStore, path: str) -> str:
    entry = store.head(path)
    assert entry is not None
    return entry.etag


def test_another_file_of_the_same_size_and_time_is_another_object(folder: FolderStore) -> None:
    before = folder.put("a", b"1").etag
    path = Path(folder.url) / "a"
    status = path.stat()
    folder.put("a", b"2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert etag(folder, "a") != before


def test_a_file_that_is_written_over_in_place_is_another_object(folder: FolderStore) -> None:
    before = folder.put("a", b"1").etag
    path = Path(folder.url) / "a"
    path.write_bytes(b"2")
    os.utime(path, ns=(1, 1))
    assert etag(folder, "a") != before


def test_ledgers_and_large_objects_are_synced_to_the_disk(folder: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    folder.put("receipt", b"1")
    folder.put_if("ledger", b"12", None)
    folder.put("small", bytes(LASTING - 1))
    folder.put("large", bytes(LASTING))
    assert synced == [2, LASTING]


def test_a_store_of_outputs_keeps_lock_and_unfinished_files_in_a_folder_of_its_own(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path), ".own")
    upload = store.upload("a")
    upload.write(b"1")
    store.put_if(".own/note", b"2", None)
    store.put(".lock", b"of somebody else")
    assert {path.name for path in tmp_path.iterdir()} == {".own", ".lock"}
    assert [entry.path for entry in store.list("")] == [".lock", ".own/note"]
    assert list(store.folders(".own/")) == []
    upload.close()
    assert (tmp_path / "a").read_bytes() == b"1"


def test_a_further_name_of_a_file_changes_no_byte_that_is_read(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path / "lake"))
    store.put("a", b"1" * (3 * PIECE))
    (entry,) = store.list("")
    file, other = tmp_path / "lake" / "a", tmp_path / "backup"
    other.hardlink_to(file)  # between the listing and the reading, as `cp -al` does
    assert sum(map(len, store.stream("a", entry.version))) == 3 * PIECE
    pieces = store.stream("a", entry.version)
    next(pieces)
    other.unlink()  # and while it is read
    assert sum(map(len, pieces)) == 2 * PIECE
    other.hardlink_to(file)
    pieces = store.stream("a", entry.version)
    next(pieces)
    file.unlink()  # its other name stays, but the object is gone
    with pytest.raises(StoreError, match=r"^a: replaced while it was read; try again"):
        list(pieces)


def test_a_file_that_is_rewritten_while_it_is_read_is_known_by_its_ctime(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path / "lake"))
    store.put("a", b"1" * (3 * PIECE))
    (entry,) = store.list("")
    pieces = store.stream("a", entry.version)
    next(pieces)
    file = tmp_path / "lake" / "a"
    before = file.stat()
    with file.open("r+b") as rewritten:
        rewritten.write(b"2" * (3 * PIECE))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StoreError, match=r"^a: replaced while it was read; try again"):
        list(pieces)


def test_a_path_with_dots_names_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "lake").mkdir()
    (tmp_path / "link").symlink_to("lake")
    assert FolderStore(f"{tmp_path}/project/../lake").url == str(tmp_path / "lake")
    assert FolderStore(f"{tmp_path}/link").url == str(tmp_path / "link")
