"""An S3 Inventory in place of LIST calls: what the bucket held when its report was made, from the report's files.

The format is Amazon's: a folder a report, named by its time, with a `manifest.json` that names gzipped CSV files, their
MD5 and their columns; keys in them are URL-encoded (Amazon S3 User Guide, "Locating your inventory list").
"""

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote_plus

import msgspec

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.rows.shard_file import blocks, unpacked
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry, Store

NAME = "manifest.json"
NEEDED = ("Key", "Size", "ETag")


class _File(msgspec.Struct, frozen=True):
    key: str
    md5: str = msgspec.field(name="MD5checksum")


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    source_bucket: str
    creation_timestamp: str
    file_format: str
    file_schema: str
    files: tuple[_File, ...]


class Inventory:
    """The newest report of a bucket's inventory, as far as it is about one lake in that bucket.

    Attributes:
        url: of the lake that it lists.
        manifest: key of the report's manifest.
        created: when the report was made, in seconds since 1970, by S3's clock.
    """

    def __init__(self, url: str, held: str, options: Mapping[str, str]) -> None:
        """Finds and reads the manifest.

        Args:
            url: `s3://bucket/...`: a manifest, or the folder that holds the reports' folders.
            held: url of what is listed.
            options: how the buckets are reached.

        Raises:
            RecipeError: one of the two is in no bucket, or the inventory is of another bucket or in another format.
            DataError: the manifest is none.
            StoreError: there is no report yet, or the bucket does not answer.
        """
        if not url.startswith("s3://") or not held.startswith("s3://"):
            raise RecipeError(f"inventory {url!r} of {held!r}: both must be in buckets, s3://bucket/...")
        bucket, _, path = url.removeprefix("s3://").rstrip("/").partition("/")
        self._store = open_store(f"s3://{bucket}", options)
        self.url = held
        self.manifest = path if path.endswith(NAME) else _newest(self._store, f"{path}/" if path else "")
        found = _parsed(self._store.read(self.manifest), self.manifest)
        ours, _, prefix = held.removeprefix("s3://").rstrip("/").partition("/")
        self._columns = [name.strip() for name in found.file_schema.split(",")]
        if found.source_bucket != ours or found.file_format != "CSV" or not set(NEEDED) <= set(self._columns):
            raise RecipeError(
                f"{self.manifest}: an inventory of {found.source_bucket} in {found.file_format} with"
                f" {found.file_schema}; needed is one of {ours} in CSV with {', '.join(NEEDED)}"
            )
        self._files, self._prefix = found.files, f"{prefix}/" if prefix else ""
        self.created = int(found.creation_timestamp) / 1000

    def now(self) -> float:
        """The time for which it speaks, as a clock."""
        return self.created

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        """As Store.list(), in the order of the report.

        Raises:
            DataError: a file of the report is not what its manifest says.
            StoreError: the bucket does not answer.
        """
        behind = not after
        for file in self._files:
            for row in csv.reader(self._lines(file)):
                entry = self._entry(row, file)
                if entry is None or not entry.path.startswith(prefix):
                    continue
                if behind:
                    yield entry
                behind = behind or entry.path == after

    def _lines(self, file: _File) -> Iterator[str]:
        digest = hashlib.md5(usedforsecurity=False)  # what Amazon gives

        def pieces() -> Iterator[bytes]:
            for piece in self._store.stream(file.key):
                digest.update(piece)
                yield piece

        for block in blocks(unpacked(pieces(), file.key)):
            yield from block.decode("ascii", "replace").splitlines()
        if digest.hexdigest() != file.md5:
            raise DataError(f"{file.key}: its MD5 is {digest.hexdigest()}, but {self.manifest} says {file.md5}")

    def _entry(self, row: Sequence[str], file: _File) -> Entry | None:
        """None for what is not the newest version of an object, or not in the lake, or a console's folder."""
        if len(row) != len(self._columns):
            raise DataError(f"{file.key}: a row of {len(row)} columns, but {self.manifest} names {len(self._columns)}")
        known = dict(zip(self._columns, row, strict=True))
        key = unquote_plus(known["Key"])
        old = known.get("IsLatest") == "false" or known.get("IsDeleteMarker") == "true"
        if old or key.endswith("/") or not key.startswith(self._prefix):
            return None
        return Entry(key.removeprefix(self._prefix), int(known["Size"]), known["ETag"].strip('"'))


def _newest(store: Store, top: str) -> str:
    """Reports' folders are named by their time; `data` and `hive` beside them hold no manifest."""
    for folder in sorted(store.folders(top), reverse=True):
        if store.head(folder + NAME) is not None:
            return folder + NAME
    raise StoreError(f"{store.url}/{top}: there is no inventory yet: no folder with a {NAME}")


def _parsed(data: bytes, path: str) -> _Manifest:
    try:
        return msgspec.json.decode(data, type=_Manifest)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: not the manifest of an S3 Inventory ({error})") from error
