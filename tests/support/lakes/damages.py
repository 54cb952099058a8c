"""Objects of a lake in a folder, damaged as disks and people do it: what `verify --all` says of two of them at once."""

import contextlib
import gzip
import io
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from powers import held_to_modes
from testkit import Mill

from gristmill.__main__ import main
from gristmill.lake.asset_kinds import ledger_of_object, owner_of_object


def _replaced(file: Path) -> None:
    """Another object, as long as the first where it is not packed; of a table with other rows."""
    data = file.read_bytes()
    if file.name.endswith(".shards.jsonl.gz"):
        file.write_bytes(gzip.compress(gzip.decompress(data)[:-1] + b" \n", mtime=0))
    elif file.suffix == ".gz":
        file.write_bytes(gzip.compress(gzip.decompress(data), 1, mtime=1))
    else:
        middle = len(data) // 2
        file.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


def _cut(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def _looped(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def _unmounted(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("of another disk"))


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "replaced": _replaced,
    "cut": _cut,
    "missing": Path.unlink,
    "a link to itself": _looped,
    "a link to nothing": _unmounted,
    "a folder in its place": _folder,
    "unreadable": lambda file: file.chmod(0),
}


def objects_by_kind(mill: Mill) -> dict[str, list[str]]:
    """The ledgers and the objects that they name, by the kind of their asset. Empty ones cannot be cut.

    Notes of runs are not proven.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(entry.path for entry in mill.store.list("") if entry.size):
        owner = owner_of_object(path)
        if owner is not None and owner[0].ledger and not path.endswith(".run.json"):
            found.setdefault(owner[0].name, []).append(path)
    return found


@contextlib.contextmanager
def damaged(mill: Mill, damage: str, paths: Sequence[str]) -> Iterator[None]:
    """A lake with these objects damaged; afterwards it is as before."""
    before = {mill.root / path: (mill.root / path).read_bytes() for path in paths}
    for file in before:
        DAMAGES[damage](file)
    try:
        yield
    finally:
        for file, data in before.items():
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink(missing_ok=True)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def hidden(mill: Mill, damage: str, paths: Sequence[str], shelves: str) -> list[str]:
    """What `verify --all` does not say of damaged objects of different assets, or how it ends; empty if all is well."""
    assert len({ledger_of_object(path) for path in paths}) == len(paths)
    said, told = io.StringIO(), io.StringIO()
    given = ["verify", str(mill.root), "--all", "--shelves", shelves]
    with (
        damaged(mill, damage, paths),
        held_to_modes(),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
    ):
        code = main(given)
    wrong = [f"{path}: not named" for path in paths if path not in said.getvalue()]
    wrong += [] if code == 1 else [f"exit code {code}: {told.getvalue()}"]
    return [f"{damage}, {' and '.join(paths)}: {each}" for each in wrong]
