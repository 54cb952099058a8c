"""SavedKeys: the keys that a run compared, in the file that the toolkit's options name for its Bloom filter.

A later run with `read_only` compares with them and adds nothing. The file is one line of JSON (KeysHeader), then the
hashes: ascending, 16 bytes each, the high half first, both big-endian. Equal keys give equal bytes.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

from gristmill.dolma.dedupe.seen import Hashes, SeenHashes
from gristmill.dolma.tagging.records import head_or_none
from gristmill.errors import AtWork, Conflict, DataError, RecipeError, undone_at_failure
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry

FORM = "keys of gristmill dolma dedupe"
VERSION = 1

_BLOOM = bytes.fromhex("17f1f081")
"""How a Bloom filter of the toolkit begins: its `MAGIC`, little-endian. Source: allenai/dolma, src/bloom_filter.rs."""
_LONGEST = 1 << 12
"""Most bytes of the header."""
_KEY = 16
_AT_ONCE = 1 << 16
"""Keys that are written at once."""
_MEND = "run the step that fills it again, with --force"


class KeysHeader(msgspec.Struct, frozen=True):
    """What the keys are.

    Attributes:
        form: always FORM.
        version: version of the form.
        keys: number of keys.
        sha256: sha256 of their bytes (hex).
        documents: digest of the options and of the patterns of the documents.
        inputs: digest of the options and of the documents' versions.
    """

    form: str
    version: int
    keys: int
    sha256: str
    documents: str
    inputs: str


class SavedKeys:
    """A file of keys.

    Args:
        path: path of the file, or its address in a bucket.
        options: options of the bucket's client.

    Attributes:
        root: the folder or address that holds the file.
        name: name of the file.
        url: the whole path or address.
    """

    def __init__(self, path: str, options: Mapping[str, str]) -> None:
        self.url = path if "://" in path else str(Path(path).absolute())
        root, _, self.name = self.url.rpartition("/")
        self.root = root or "/"
        # A folder such as /tmp is shared: what helps to write the file lies in a folder of its own.
        self._store = open_store(self.root, options, own=f".dolma-{self.name}")

    def header(self) -> KeysHeader | None:
        """The header; None if there is no file.

        Raises:
            RecipeError: it is a Bloom filter of the toolkit, or another file.
            DataError: it is truncated, or of a newer version.
        """
        found = self._read_header_and_entry()
        return None if found is None else found[0]

    def _read_header_and_entry(self) -> tuple[KeysHeader, Entry] | None:
        entry = head_or_none(self._store, self.name)
        if entry is None:
            return None
        line, end, _ = self._store.read_range(self.name, 0, min(entry.size, _LONGEST)).partition(b"\n")
        if line.startswith(_BLOOM):
            raise RecipeError(
                f"bloom_filter.file: {self.url} is a Bloom filter that Dolma's toolkit wrote. It has no keys, so it"
                " cannot be read here; run the step that filled it with this command, and another bloom_filter.file"
            )
        if not end or FORM.encode() not in line:
            raise RecipeError(
                f"bloom_filter.file: {self.url} is not a file of keys that this command wrote; give another path, or"
                " replace it with --force"
            )
        header = decode_object(line, KeysHeader, self.url, "the header of a file of keys", _MEND)
        if header.version > VERSION:
            raise DataError(f"{self.url}: a newer version of gristmill wrote it; update gristmill, or {_MEND}")
        if entry.size != len(line) + 1 + _KEY * header.keys:
            raise DataError(f"{self.url}: it has {entry.size:,} bytes, which is not what its header says; {_MEND}")
        return header, entry

    def load(self, digest: str) -> SeenHashes:
        """The keys.

        Args:
            digest: the sha256 that their header had when the run was planned.

        Raises:
            DataError: they are not what the header says, or were replaced.
            StoreError: the file was replaced while it was read.
        """
        found = self._read_header_and_entry()
        if found is None or found[0].sha256 != digest:
            raise DataError(f"{self.url}: it was replaced since this run began; run again")
        header, entry = found
        keys = np.empty((header.keys, 2), np.uint64)
        bytes_, at, rest = sha256(), 0, b""
        for piece in self._store.stream(self.name, entry.version, entry.size - _KEY * header.keys):
            bytes_.update(piece)
            whole, rest = _split_whole_keys(rest + piece)
            keys[at : at + len(whole)] = whole
            at += len(whole)
        ascending = (keys[1:, 0] > keys[:-1, 0]) | ((keys[1:, 0] == keys[:-1, 0]) & (keys[1:, 1] > keys[:-1, 1]))
        if bytes_.hexdigest() != digest or not ascending.all():
            raise DataError(f"{self.url}: its keys are not those that its header names; {_MEND}")
        return SeenHashes.from_ascending(keys)

    def etag(self) -> str | None:
        """The etag of what lies at the path; None if nothing does."""
        entry = head_or_none(self._store, self.name)
        return entry.etag if entry else None

    def save(self, seen: SeenHashes, documents: str, inputs: str, replaces: str | None) -> None:
        """Writes the file. It appears when it is complete.

        Args:
            seen: the keys.
            documents: digest of the options and of the patterns of the documents.
            inputs: digest of the options and of the documents' versions.
            replaces: the etag of the file when the run was planned; None: there was none.

        Raises:
            AtWork: another run has written the file since then.
            StoreError: the file cannot be written.
        """
        keys, bytes_ = seen.sorted_hashes(), sha256()
        for piece in _key_pieces(keys):
            bytes_.update(piece)
        header = KeysHeader(FORM, VERSION, len(keys), bytes_.hexdigest(), documents, inputs)
        self._store.sweep()
        upload = self._store.upload(self.name)
        if self.etag() != replaces:
            upload.abort()
            raise self._path_taken_error()
        with undone_at_failure(upload.abort):
            upload.write(msgspec.json.encode(header, order="sorted") + b"\n")
            for piece in _key_pieces(keys):
                upload.write(piece)
        try:
            upload.close()
        except Conflict as error:
            raise self._path_taken_error() from error
        self._store.sweep()

    def _path_taken_error(self) -> AtWork:
        return AtWork(f"{self.url}: another run has written it since this one began, and its keys stay; run again")


def _key_pieces(keys: Hashes) -> Iterator[bytes]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE].astype(">u8").tobytes()


def _split_whole_keys(data: bytes) -> tuple[Hashes, bytes]:
    """The whole keys of some bytes, and what is left."""
    size = len(data) // _KEY * _KEY
    return np.frombuffer(data[:size], ">u8").astype(np.uint64).reshape(-1, 2), data[size:]
