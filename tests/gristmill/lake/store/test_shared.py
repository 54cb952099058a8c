"""A lake that two users of a group write: their umask decides who may write what, and each goes on from the other."""

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from gristmill.errors import StoreError
from gristmill.lake.rows.blocklists.blocklist import add_to_blocklist
from gristmill.lake.store.folder import FolderStore

ANN, BEN, GROUP = 64_001, 64_002, 64_100

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="two users are played, which takes root")


def as_user(user: int, mask: int, act: Callable[[], object]) -> str:
    """What goes wrong when a user of the group does something; empty if nothing does."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        told = ""
        try:
            os.setgroups([GROUP])
            os.setgid(user)
            os.setuid(user)
            os.umask(mask)
            act()
        except BaseException:  # noqa: BLE001 - the parent tells of it
            told = traceback.format_exc()
        os.write(write, told.encode()[-4000:])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told


@contextmanager
def shared() -> Iterator[Path]:
    """A folder for the lake that the group may write, as docs/how-to/platforms.md says."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(folder, "lake")
        root.mkdir()
        os.chown(root, 0, GROUP)
        root.chmod(0o2775)
        yield root


def publish(root: Path, before: bytes | None, data: bytes) -> None:
    """A compare-and-swap of a ledger, and a shard beside it that is written anew."""
    store = FolderStore(str(root))
    tagged = store.read_tagged("ledgers/2024.json")
    assert (tagged and tagged[0]) == before
    store.put_if("ledgers/2024.json", data, tagged[1] if tagged else None)
    store.delete(["shards/old"])
    upload = store.upload("shards/a")
    upload.write(data)
    upload.close()
    store.put("shards/old", data)
    store.sweep()


def test_each_user_goes_on_from_what_the_other_has_made() -> None:
    with shared() as root:
        for user, before, data in ((ANN, None, b"1"), (BEN, b"1", b"2"), (ANN, b"2", b"3")):
            assert as_user(user, 0o002, partial(publish, root, before, data)) == ""
        files = [path.stat() for path in root.rglob("*") if path.is_file()]
        assert {file.st_mode & 0o777 for file in files} == {0o664}
        assert FolderStore(str(root)).read("shards/a") == b"3"


def test_a_lock_that_only_its_owner_may_write_is_taken_by_others() -> None:
    with shared() as root:
        (root / ".lock").touch()
        (root / ".lock").chmod(0o644)
        assert as_user(BEN, 0o002, lambda: FolderStore(str(root)).put_if("raw/a", b"a", None)) == ""


def test_the_file_that_may_not_be_written_is_named() -> None:
    def ben(root: Path) -> None:
        with pytest.raises(
            StoreError, match=rf"^raw/a: {root}/\.incoming/\S+: Permission denied \(make the lake's fold"
        ):
            FolderStore(str(root)).put("raw/a", b"a")

    with shared() as root:
        assert as_user(ANN, 0o022, lambda: FolderStore(str(root)).put("raw/b", b"b")) == ""
        (root / ".incoming").mkdir(exist_ok=True)  # of root
        assert as_user(BEN, 0o022, lambda: ben(root)) == ""


def test_files_of_a_dead_writer_are_swept_by_another_user() -> None:
    with shared() as root:
        assert as_user(ANN, 0o002, lambda: FolderStore(str(root)).upload("raw/a").write(b"half")) == ""
        assert len(list((root / ".incoming").iterdir())) == 1
        assert as_user(BEN, 0o002, lambda: FolderStore(str(root)).sweep()) == ""
        assert list(root.iterdir()) == []


def modes(root: Path) -> list[str]:
    """Mode and owner of the list and of its record."""
    files = [(root / path).stat() for path in ("blocklists/own.jsonl", "withdrawn/blocklists/own.jsonl")]
    return [f"{file.st_mode & 0o777:o} of {file.st_uid}" for file in files]


@pytest.mark.parametrize(
    ("before", "by_ann", "by_ben"),
    [(0o600, "600", ""), (0o640, "640", "640"), (0o660, "660", "660"), (0o666, "666", "664")],
    ids=["600", "640", "660", "666"],
)
def test_a_list_that_is_written_anew_is_no_more_open_than_it_was(before: int, by_ann: str, by_ben: str) -> None:
    """The record of a private list has its entries, and is private too. A list that Ben cannot read he cannot write."""
    with shared() as root:
        listed = root / "blocklists/own.jsonl"

        def ann() -> None:
            FolderStore(str(root)).put("blocklists/own.jsonl", b"")
            listed.chmod(before)
            add_to_blocklist(FolderStore(str(root)), "own", {("s", "a"): "asked"})

        def ben() -> None:
            add_to_blocklist(FolderStore(str(root)), "own", {("s", "b"): "asked"})

        assert as_user(ANN, 0o002, ann) == ""
        assert modes(root) == [f"{by_ann} of {ANN}"] * 2
        told = as_user(BEN, 0o002, ben)
        assert ("Permission denied" in told, told == "") == (not by_ben, bool(by_ben))
        assert modes(root) == [f"{by_ben} of {BEN}" if by_ben else f"{by_ann} of {ANN}"] * 2
        root_adds = partial(add_to_blocklist, FolderStore(str(root)), "own", {("s", "c"): "asked"})
        before_root = modes(root)
        root_adds()
        assert modes(root) == before_root
