"""An S3 Inventory in place of LIST calls: the objects that the bucket held when the report was made.

The format is Amazon's (Amazon S3 User Guide, "Locating your inventory list"). Each report has a folder, named by its
time. A `manifest.json` in it names gzipped CSV files, their MD5 and their columns. Keys in the CSV are URL-encoded.
"""

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated
from urllib.parse import unquote_plus

import msgspec

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.rows.row_blocks import read_row_blocks
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.open import open_store
from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import Entry, Store

NAME = "manifest.json"
NEEDED = ("Key", "Size", "ETag")
_LAST = 10**14
"""The latest time of a report, in milliseconds since 1970: in the year 5138."""
_SIZE = re.compile("[0-9]{1,18}")


class _File(msgspec.Struct, frozen=True):
    key: str
    md5: str = msgspec.field(name="MD5checksum")


class _Manifest(msgspec.Struct, frozen=True, rename="camel"):
    source_bucket: str
    creation_timestamp: Annotated[int, msgspec.Meta(ge=0, le=_LAST)]
    file_format: str
    file_schema: str
    files: tuple[_File, ...]


class Inventory:
    """The newest report of a bucket's inventory, limited to one folder of that bucket.

    Attributes:
        url: root of the listed objects.
        manifest: key of the report's manifest.
        created: time when S3 made the report, in seconds since 1970.
    """

    def __init__(self, url: str, held: str, options: Mapping[str, str], access: Access | None = None) -> None:
        """Finds and reads the manifest.

        Args:
            url: `s3://bucket/...` of a manifest, or of the folder that holds the folders of the reports.
            held: `s3://bucket/...`, root of the listed objects.
            options: options of the bucket client, such as endpoint and region.
            access: credentials of the bucket, as in open_store().

        Raises:
            RecipeError: one of the URLs is not in a bucket, or the inventory is of another bucket or in another format.
            DataError: the manifest is wrong.
            StoreError: there is no report yet, or the bucket does not answer.
        """
        if not url.startswith("s3://") or not held.startswith("s3://"):
            raise RecipeError(f"inventory {url!r} of {held!r}: both must be in buckets, s3://bucket/...")
        bucket, _, path = url.removeprefix("s3://").rstrip("/").partition("/")
        self._store = open_store(f"s3://{bucket}", options, access)
        self.url = held
        self.manifest = path if path.endswith(NAME) else _newest_manifest_key(self._store, f"{path}/" if path else "")
        manifest = _parse_manifest(self._store.read(self.manifest), self.manifest)
        ours, _, prefix = held.removeprefix("s3://").rstrip("/").partition("/")
        self._columns = [name.strip() for name in manifest.file_schema.split(",")]
        if manifest.source_bucket != ours or manifest.file_format != "CSV" or not set(NEEDED) <= set(self._columns):
            raise RecipeError(
                f"{self.manifest}: an inventory of {manifest.source_bucket} in {manifest.file_format} with"
                f" {manifest.file_schema}; give one of {ours} in CSV with {', '.join(NEEDED)}"
            )
        self._files, self._prefix = manifest.files, f"{prefix}/" if prefix else ""
        self.created = manifest.creation_timestamp / 1000

    def now(self) -> float:
        """The time of the report; replaces the clock of a watch, in seconds since 1970."""
        return self.created

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:  # noqa: ARG002 - see Store
        """The entries of all objects below a folder, in the order of the report.

        Args:
            prefix: beginning of the paths, as in Store.list().
            after: path after which the listing begins, as in Store.list().
            tell: function that is not called: a report names objects only.

        Raises:
            DataError: a file of the report contradicts its manifest.
            StoreError: the bucket does not answer.
        """
        behind = not after
        for file in self._files:
            for number, row in enumerate(csv.reader(self._manifest_lines(file))):
                entry = self._entry_of_row(row, f"{file.key}: row {number}")
                if entry is None or not entry.path.startswith(prefix):
                    continue
                if behind:
                    yield entry
                behind = behind or entry.path == after

    def _manifest_lines(self, file: _File) -> Iterator[str]:
        digest = hashlib.md5(usedforsecurity=False)  # the manifest has MD5 only

        def pieces() -> Iterator[bytes]:
            for piece in self._store.stream(file.key):
                digest.update(piece)
                yield piece

        for block in read_row_blocks(unpack_pieces(pieces(), file.key), file.key):
            yield from block.decode("ascii", "replace").splitlines()
        if digest.hexdigest() != file.md5:
            raise DataError(f"{file.key}: its MD5 is {digest.hexdigest()}, but {self.manifest} says {file.md5}")

    def _entry_of_row(self, row: Sequence[str], where: str) -> Entry | None:
        """The entry of a row; None for an old version, a removed or outside object, or a console's folder."""
        if len(row) != len(self._columns):
            raise DataError(f"{where}: a row of {len(row)} columns, but {self.manifest} names {len(self._columns)}")
        fields = dict(zip(self._columns, row, strict=True))
        key = unquote_plus(fields["Key"])
        old = fields.get("IsLatest") == "false" or fields.get("IsDeleteMarker") == "true"
        if old or key.endswith("/") or not key.startswith(self._prefix):
            return None
        if not _SIZE.fullmatch(fields["Size"]):
            wrong = f"Size is {fields['Size']!r}, and no number of bytes, in the report of {self.manifest}"
            raise DataError(f"{where}: {wrong}; removed objects have no size: add IsDeleteMarker to the inventory")
        return Entry(key.removeprefix(self._prefix), int(fields["Size"]), fields["ETag"].strip('"'))


def _newest_manifest_key(store: Store, top: str) -> str:
    """The key of the newest manifest. Folders of reports are named by time; `data` and `hive` hold no manifest."""
    for folder in sorted(store.folders(top), reverse=True):
        if store.head(folder + NAME) is not None:
            return folder + NAME
    raise StoreError(f"{store.url}/{top}: there is no inventory yet: no folder with a {NAME}")


def _parse_manifest(data: bytes, path: str) -> _Manifest:
    try:
        return msgspec.json.decode(data, type=_Manifest, strict=False)  # Amazon writes the time as a string
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: not the manifest of an S3 Inventory ({error})") from error
