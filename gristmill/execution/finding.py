"""Finding: one difference between the lake and one of its ledgers; and what cannot be read becomes one."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import xxhash

from gristmill.errors import (
    DataError,
    GristmillError,
    NewerSchema,
    StoreError,
    error_in_words,
    in_our_code,
    is_failure,
    shorten,
)
from gristmill.lake.address import Place
from gristmill.lake.ledger.ownership import is_in_partition_folders
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.plain_files import Tell, Unlisted
from gristmill.lake.store.protocol import Entry, ObjectVersion, ReadOnly, Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between the lake and a ledger.

    Attributes:
        path: the object.
        row: the first affected row, counted from 0; None if the finding is about the whole object.
        what: description of what was expected, and what was found.
        mend: advice for a person; empty: the general advice for such an object (execution/mend.py).
    """

    path: str
    row: int | None
    what: str
    mend: str = ""

    def __str__(self) -> str:
        where = self.path if self.row is None else f"{self.path}: row {self.row}"
        what = self.what.removeprefix(f"{self.path}: ")  # an error that was caught names the object, too
        return f"{where}: {what} ({self.mend})" if self.mend else f"{where}: {what}"


def difference_in_words(what: str, actual: object, recorded: object) -> str:
    """The sentence for a comparison that failed.

    Args:
        what: name of what was compared, such as a digest.
        actual: the value in the lake.
        recorded: the value in the ledger.
    """
    return f"{what} {_shorten_value(actual)}, but its ledger says {_shorten_value(recorded)}"


def _shorten_value(value: object) -> str:
    return shorten(f"{value:,}" if isinstance(value, int) else str(value), 120)


def unreadable_finding(path: str, error: DataError, mend: str = "") -> Finding:
    """The finding for an object that cannot be read. For one of a newer Gristmill the mend is to upgrade, and no other.

    Args:
        path: the object.
        error: error that says why it cannot be read.
        mend: advice about damage; empty as in Finding.
    """
    if isinstance(error, NewerSchema):
        return Finding(error.path, None, error.what, error.mend)
    return Finding(path, None, str(error).removeprefix(f"{path}: "), mend)


def foreign_name_findings(store: Store, place: Place) -> Iterator[Finding]:
    """Findings on names in the note of a partition's last run that are not of its own objects."""
    for path in read_run_note(store, place).left:
        if not is_in_partition_folders(place, path):
            what = f"it names {path!r} as left by a run, which is no object of {place.asset} ({place.snapshot})"
            yield Finding(place.run, None, what, "nothing was done with it; remove this note: the next run writes it")


def guard_proof(store: Store, path: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings of a proof. What it cannot read is one more, so that it hides no finding of another proof.

    A proof may read an object that another proof has found damaged, lost or replaced already. It then ends too early.
    It may also meet damage that no reader has words for, or a bug of ours: whatever is raised ends this proof alone.

    Args:
        store: the lake.
        path: path of the object, or of the ledger, that is proven.
        findings: findings of one proof.

    Raises:
        StoreError: the lake does not answer.
    """
    try:
        yield from findings
    except GristmillError as error:
        check_answers(store)
        if str(error).startswith(f"{path}: "):
            yield Finding(path, None, str(error).removeprefix(f"{path}: "))
        else:
            yield Finding(path, None, f"not proven to its end: {error}", "mend what it names, then verify again")
    except BaseException as error:
        if isinstance(error, GeneratorExit) or not is_failure(error):
            raise
        check_answers(store)
        what = f"not proven to its end: {error_in_words(error)}, at {in_our_code(error)}: damage, or a bug"
        yield Finding(path, None, what, "make it again; if this finding stays, report it")


def check_answers(store: Store) -> None:
    """Tells a lake that does not answer, such as a folder whose disk is not mounted, from a lost object.

    Raises:
        StoreError: the lake does not answer.
    """
    next(iter(store.folders("")), None)


class AuditedStore(ReadOnly):
    """A Store that only reads. An object that cannot be read is a DataError here, so that a proof goes on after it.

    Such an object is a link to itself, a folder, a file that this user may not read, or one on a damaged disk. If the
    lake does not answer at all, reading raises StoreError as everywhere.

    Args:
        store: the lake.
    """

    words = "an audit may"

    def __init__(self, store: Store) -> None:
        super().__init__(store, store.url)
        self._unlisted: dict[str, Unlisted] = {}

    def head(self, path: str) -> Entry | None:
        return self._report_store_error(lambda: self._store.head(path))

    def read(self, path: str) -> bytes:
        return self._report_store_error(lambda: self._store.read(path))

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        return self._report_store_error(lambda: self._store.read_tagged(path))

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._report_store_error(lambda: self._store.read_range(path, start, end))

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        pieces = self._store.stream(path, version, start)
        while piece := self._report_store_error(lambda: next(pieces, b"")):
            yield piece

    def folders(self, prefix: str) -> Iterator[str]:
        return self._store.folders(prefix)

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        return self._store.list(prefix, after, tell or self._leave_out)

    def _leave_out(self, found: Unlisted) -> None:
        self._unlisted[found.path] = found

    def left_out(self) -> Iterator[Finding]:
        """Findings on what listings have left out, because it cannot be an object."""
        yield from (Finding(path, None, found.reason) for path, found in sorted(self._unlisted.items()))

    def _report_store_error(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except StoreError as error:
            check_answers(self._store)
            raise DataError(str(error)) from error


def prove_object(
    store: Store, path: str, sha256: str, size: int | None = None, content: str | None = None
) -> Iterator[Finding]:
    """Findings unless an object exists, can be read, and has the size and digests that its ledger names.

    Args:
        store: the lake.
        path: path of the object.
        sha256: SHA-256 of its bytes, hexadecimal.
        size: number of its bytes; None: the ledger does not name it.
        content: XXH3-128 of its bytes, hexadecimal; None: the ledger does not name it.

    Returns:
        The finding, if something is wrong; else nothing.
    """
    yield from guard_proof(store, path, _object_findings(store, path, sha256, size, content))


def _object_findings(store: Store, path: str, sha256: str, size: int | None, content: str | None) -> Iterator[Finding]:
    entry = store.head(path)
    if entry is None:
        yield Finding(path, None, "there is no such object, but the ledger names it")
        return
    if size is not None and entry.size != size:
        yield Finding(path, None, difference_in_words("the object's bytes are", entry.size, size))
        return
    hashes, hashed = hashlib.sha256(), xxhash.xxh3_128()
    for piece in store.stream(path):
        hashes.update(piece)
        hashed.update(piece if content is not None else b"")
    if hashes.hexdigest() != sha256:
        yield Finding(path, None, difference_in_words("its sha256 is", hashes.hexdigest(), sha256))
    elif content is not None and hashed.hexdigest() != content:
        yield Finding(path, None, difference_in_words("its content digest is", hashed.hexdigest(), content))
