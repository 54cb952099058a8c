"""The ledger of an index: the partitions that it closes, and the digest of each file that a trainer or a person reads.

Indexes, consolidated copies and packing plans have such a ledger. It is written last. It has no clock and no path of a
machine: some files name the lake's root, and their digests are over the content with the root taken out.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from time import sleep
from types import MappingProxyType

import msgspec

from gristmill.errors import Conflict, DataError, NewerSchema
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.fence import fence_writes
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.schema import SCHEMA, refuse_newer_schema
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store

TEXTS = (".json", ".yaml")
"""How the names of files end that may name the lake's root."""
NO_ROOT = b'"\0/'
"""What takes the place of a quote, the root and a slash. No JSON text contains a NUL."""

TRIES, WAIT = 11, 0.1
"""How often a file and its ledger are read if they do not belong together, and the seconds in between."""

_LOST = "there is no such object, but the ledger of its index names it"


class IndexLedger(msgspec.Struct, frozen=True):
    """The ledger of an index.

    Attributes:
        schema: 1.
        asset: address of the index.
        fingerprint: digest of asset, inputs and files.
        inputs: the partitions that it closes, in the order of its streams.
        files: content digest of each file, by its path in the lake.
    """

    schema: int
    asset: str
    fingerprint: str
    inputs: tuple[Upstream, ...]
    files: dict[str, str]


def compose_index(asset: str, inputs: Sequence[Upstream], files: Mapping[str, str]) -> IndexLedger:
    """The ledger of an index with these inputs and digests of files."""
    named = [[each.asset, each.snapshot, each.fingerprint] for each in inputs]
    fingerprint = digest_of({"asset": asset, "inputs": named, "files": dict(files)})
    return IndexLedger(SCHEMA, asset, fingerprint, tuple(inputs), dict(files))


def content_digest(data: bytes, path: str, root: str) -> str:
    """The SHA-256 of a file's content, with the lake's root taken out of texts. It is the same in every copy of the
    lake.

    Args:
        data: the file's bytes.
        path: path of the file; its ending tells a text.
        root: the lake's address.

    Raises:
        DataError: a text contains a NUL, so it is damaged.
    """
    if path.endswith(TEXTS):
        if b"\0" in data:
            raise DataError(f"{path}: has a NUL")
        begin = json.dumps(f"{root}/").encode()[:-1]  # how a JSON string begins that is a path in this lake
        data = data.replace(begin, NO_ROOT)
    return hashlib.sha256(data).hexdigest()


def parse_index_ledger(data: bytes, path: str) -> IndexLedger:
    """Decodes the ledger of an index.

    Returns:
        The ledger.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the bytes are not the ledger of an index.
    """
    refuse_newer_schema(data, path)
    return decode_object(data, IndexLedger, path, "the ledger of an index")


def read_index_ledger(store: Store, path: str) -> IndexLedger | None:
    """The ledger of an index, or None if the lake does not have it.

    Args:
        store: the lake.
        path: path of the ledger.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the bytes are not the ledger of an index.
    """
    tagged = store.read_tagged(path)
    return parse_index_ledger(tagged[0], path) if tagged else None


def read_indexed(store: Store, asset: str, path: str, mend: str) -> tuple[IndexLedger, bytes] | None:
    """The ledger of an index, and the bytes of a file that it names; None if the lake does not have the index.

    A run writes the file, then the ledger. So both are read again, for a second, if they do not belong together.

    Args:
        store: the lake.
        asset: address of the index.
        path: path of the file.
        mend: advice about a file that is lost or damaged, for the message.

    Raises:
        NewerSchema: a newer version of Gristmill wrote the index.
        DataError: the file is lost, or is not the one that the ledger names; or the ledger is damaged.
    """
    for tries in range(TRIES):
        sleep(WAIT if tries else 0)
        ledger = read_index_ledger(store, ledger_of_asset(asset))
        if ledger is None:
            return None
        tagged = store.read_tagged(path)
        if tagged is None:
            raise DataError(f"{path}: it is lost; {mend}")
        if ledger.files.get(path) == content_digest(tagged[0], path, store.url):
            return ledger, tagged[0]
    raise DataError(f"{path}: it is not the file that its ledger names; {mend}")


def changed_files(
    store: Store, ledger: IndexLedger, large: Mapping[str, int | None] = MappingProxyType({})
) -> Iterator[tuple[str, str]]:
    """The files that are missing, or are not as the ledger says: (path, what is wrong).

    Args:
        store: the lake.
        ledger: ledger of the index.
        large: size of each file, by its path, of which only the size is compared; None: only whether it exists.
    """
    for path, recorded in sorted(ledger.files.items()):
        if path in large or not path.endswith(TEXTS):
            what = (
                _changed_size_message(store, path, large[path])
                if path in large
                else _changed_file_message(store, path, recorded)
            )
            if what:
                yield path, what
            continue
        tagged = store.read_tagged(path)
        if tagged is None:
            yield path, _LOST
            continue
        try:
            same = content_digest(tagged[0], path, store.url) == recorded
        except DataError as error:
            yield path, str(error).removeprefix(f"{path}: ")
            continue
        if not same:
            yield path, f"its content is not that in the ledger of its index, or it names another lake than {store.url}"


def _changed_size_message(store: Store, path: str, size: int | None) -> str:
    """What is wrong with a large file, whose bytes are not read; empty if nothing is."""
    entry = store.head(path)
    if entry is None:
        return _LOST
    return "" if size in {None, entry.size} else f"its size is {entry.size}, not {size}"


def _changed_file_message(store: Store, path: str, recorded: str) -> str:
    """What is wrong with a file; empty if nothing is."""
    if store.head(path) is None:
        return _LOST
    return "" if hash_object(store, path) == recorded else "its sha256 is not the one in the ledger of its index"


def index_differences(
    store: Store,
    asset: str,
    inputs: Sequence[Upstream],
    files: Mapping[str, bytes | None],
    large: Mapping[str, int | None] = MappingProxyType({}),
) -> Iterator[str]:
    """The reasons why the index in the lake is not one with these inputs and files; nothing if it is.

    Args:
        store: the lake.
        asset: address of the index.
        inputs: the partitions that it should close.
        files: the content that each file should have; None: the content that its ledger says.
        large: sizes of large files in bytes by path, as for changed_files().

    Raises:
        NewerSchema: a newer version of Gristmill wrote the index.
    """
    try:
        ledger = read_index_ledger(store, ledger_of_asset(asset))
    except NewerSchema:
        raise
    except DataError as error:
        yield str(error)
        return
    if ledger is None:
        yield "it has no ledger: an earlier Gristmill made it, or the ledger was lost"
        return
    if ledger != compose_index(asset, ledger.inputs, ledger.files):
        yield "its ledger contradicts itself"
    if ledger.inputs != tuple(inputs):
        yield "its slices changed"
    if ledger.files.keys() != files.keys():
        yield "it should have other files"
    for path, data in files.items():
        if data is not None and ledger.files.get(path) != content_digest(data, path, store.url):
            yield f"{path} should have another content"
    yield from (f"{path}: {what}" for path, what in changed_files(store, ledger, large))


class IndexWriter:
    """Writes the files of an index, and its ledger last. What the lake has already is not written again.

    Make it before you read what the index closes: it looks at the ledger that is there. So a run that read less than
    another run, and would end after it, does not replace the other's index.

    Two runs at once may write each other's files before either writes the ledger. The ledger is then written by the one
    whose files are all there, or by none.

    Args:
        store: the lake.
        asset: address of the index.
        names: fields of the ledger's path that the address has not.

    Raises:
        NewerSchema: a newer version of Gristmill wrote the ledger.
    """

    def __init__(self, store: Store, asset: str, **names: str) -> None:
        self._store, self._asset, self._path = store, asset, ledger_of_asset(asset, **names)
        self._before = store.read_tagged(self._path)
        if self._before is not None:
            refuse_newer_schema(self._before[0], self._path)
        self._files: dict[str, str] = {}
        self._etags: dict[str, str | None] = {}

    def fence_writes(self) -> AbstractContextManager[None]:
        """A block in which nothing is written once another run has written the ledger: Conflict is raised instead."""
        return fence_writes(self._check_unwritten)

    def put(self, path: str, data: bytes) -> None:
        """Writes a small file, unless it exists already with the same bytes.

        Raises:
            NewerSchema: a newer version of Gristmill wrote the file.
            Conflict: another run wrote the ledger meanwhile. The file stays as that run wrote it.
        """
        tagged = self._store.read_tagged(path)
        if tagged is not None:
            refuse_newer_schema(tagged[0], path)
        etag = tagged[1] if tagged else None
        if tagged is None or tagged[0] != data:
            with self.fence_writes():
                etag = self._store.put(path, data).etag
        self._files[path], self._etags[path] = content_digest(data, path, self._store.url), etag

    def _check_unwritten(self) -> None:
        now, before = self._store.head(self._path), self._before
        if (now.etag if now else None) != (before[1] if before else None):
            raise Conflict(f"{self._path}: another run wrote it meanwhile; run again")

    def add(self, path: str, sha256: str) -> None:
        """Adds a file that is in the lake already."""
        entry = self._store.head(path)
        self._files[path], self._etags[path] = sha256, entry.etag if entry else None

    def close(self, inputs: Sequence[Upstream]) -> IndexLedger:
        """Writes the ledger.

        Args:
            inputs: the partitions that the index closes.

        Returns:
            The written ledger.

        Raises:
            Conflict: another run wrote the ledger or a file meanwhile, so that the files may be of both; run again.
        """
        ledger = compose_index(self._asset, inputs, self._files)
        data, before = as_json(ledger), self._before
        if before is None or before[0] != data:
            try:
                with fence_writes(lambda: self._check_own(ledger)):
                    self._store.put_if(self._path, data, before[1] if before else None)
            except Conflict:
                now = self._store.read_tagged(self._path)
                if now is None or now[0] != data:  # another run that read the same has written the same
                    raise
            else:
                return ledger
        self._check_own(ledger)
        return ledger

    def _check_own(self, ledger: IndexLedger) -> None:
        """Checks that no run has written other files over those of this one. Only files that changed are read."""
        files = {path: sha256 for path, sha256 in ledger.files.items() if self._is_touched(path)}
        for path, _ in changed_files(self._store, msgspec.structs.replace(ledger, files=files)):
            raise Conflict(f"{path}: another run wrote it meanwhile; run again")

    def _is_touched(self, path: str) -> bool:
        entry = self._store.head(path)
        return entry is None or entry.etag != self._etags[path]
