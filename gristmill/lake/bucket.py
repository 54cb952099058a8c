"""A lake in an S3 bucket. The only file that imports a bucket client (obstore; see docs/decisions.md)."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore import exceptions
from obstore.store import S3Store

from gristmill.errors import Conflict, StoreError
from gristmill.lake.store import PIECE, Entry, check_path, check_prefix

if TYPE_CHECKING:
    from obstore import ObjectMeta, WritableFile

SMALL = 8 << 20
"""Objects up to this size are put in one request; larger ones in parts of this size (at most 10,000)."""

DELETE_BATCH = 1000


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turns the client's errors into StoreErrors that name the path; secrets are never in them."""
    try:
        yield
    except (exceptions.PreconditionError, exceptions.AlreadyExistsError) as error:
        raise Conflict(f"{path}: another run wrote it meanwhile; run again") from error
    except (FileNotFoundError, exceptions.BaseError) as error:
        first = str(error).strip().splitlines()[0][:300]
        raise StoreError(f"{path}: the bucket did not answer as it should: {first}") from error


def _unquoted(etag: str | None) -> str:
    return (etag or "").strip('"')


class _BucketUpload:
    """An object that is put when whole; a killed writer leaves an unfinished multipart upload at the most."""

    def __init__(self, store: "BucketStore", path: str) -> None:
        self._store, self._path = store, path
        self._pending: list[bytes] = []
        self._size = 0
        self._writer: WritableFile | None = None

    def write(self, data: bytes) -> None:
        self._size += len(data)
        if self._writer is not None:
            with _told(self._path):
                self._writer.write(data)
            return
        self._pending.append(bytes(data))
        if self._size > SMALL:
            self._writer = self._store.open_parts(self._path)
            with _told(self._path):
                self._writer.write(b"".join(self._pending))
            self._pending = []

    def close(self) -> Entry:
        if self._writer is None:
            return self._store.put(self._path, b"".join(self._pending))
        with _told(self._path):
            self._writer.close()
        entry = self._store.head(self._path)
        if entry is None or entry.size != self._size:
            raise StoreError(f"{self._path}: the bucket does not hold what was sent; run again")
        return entry

    def abort(self) -> None:
        self._pending, self._writer = [], None


class BucketStore:
    """A Store over `s3://bucket/prefix`. Credentials come from the environment alone."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._url = url.rstrip("/")
        bucket, _, prefix = self._url.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._client = S3Store(
            bucket,
            config={key: value for key, value in options.items() if value},  # type: ignore[arg-type]
            client_options={"allow_http": True, "timeout": timedelta(seconds=120)},
            retry_config={"max_retries": 8, "retry_timeout": timedelta(seconds=90)},
        )

    @property
    def url(self) -> str:
        return self._url

    def _key(self, path: str) -> str:
        return self._prefix + check_path(path)

    def _entry(self, meta: "ObjectMeta") -> Entry:
        path = meta["path"].removeprefix(self._prefix)
        return Entry(path, meta["size"], _unquoted(meta["e_tag"]))

    def list(self, prefix: str) -> Iterator[Entry]:
        top = self._prefix + check_prefix(prefix)
        with _told(prefix):
            for page in obstore.list(self._client, top.rstrip("/") or None, chunk_size=1000):
                for meta in page:
                    entry = self._entry(meta)
                    if meta["path"].startswith(top) and not self._is_folder_marker(entry):
                        yield entry

    def _is_folder_marker(self, entry: Entry) -> bool:
        """Consoles make empty objects named `folder/`; the client lists them without the slash."""
        return entry.size == 0 and self.head(entry.path) is None

    def head(self, path: str) -> Entry | None:
        with _told(path):
            try:
                return self._entry(obstore.head(self._client, self._key(path)))
            except (FileNotFoundError, exceptions.NotFoundError):
                return None

    def read(self, path: str) -> bytes:
        found = self.read_tagged(path)
        if found is None:
            raise StoreError(f"{path}: no such object in {self.url}")
        return found[0]

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        with _told(path):
            try:
                got = obstore.get(self._client, self._key(path))
            except (FileNotFoundError, exceptions.NotFoundError):
                return None
            return bytes(got.bytes()), _unquoted(got.meta["e_tag"])

    def read_range(self, path: str, start: int, end: int) -> bytes:
        if start == end:
            return b""
        with _told(path):
            try:
                data = bytes(obstore.get_range(self._client, self._key(path), start=start, end=end))
            except (FileNotFoundError, exceptions.NotFoundError) as error:
                raise StoreError(f"{path}: no such object in {self.url}") from error
        if len(data) != end - start:
            raise StoreError(f"{path}: has no bytes {start} to {end}: it was replaced meanwhile; try again")
        return data

    def stream(self, path: str) -> Iterator[bytes]:
        with _told(path):
            try:
                got = obstore.get(self._client, self._key(path))
            except (FileNotFoundError, exceptions.NotFoundError) as error:
                raise StoreError(f"{path}: no such object in {self.url}") from error
            for piece in got.stream(min_chunk_size=PIECE):
                yield bytes(piece)

    def upload(self, path: str) -> _BucketUpload:
        check_path(path)
        return _BucketUpload(self, path)

    def open_parts(self, path: str) -> "WritableFile":
        """A multipart upload."""
        with _told(path):
            return obstore.open_writer(self._client, self._key(path), buffer_size=SMALL, max_concurrency=4)

    def put(self, path: str, data: bytes) -> Entry:
        with _told(path):
            done = obstore.put(self._client, self._key(path), data, use_multipart=False)
        return Entry(path, len(data), _unquoted(done["e_tag"]))

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        with _told(path):
            if etag is None:
                done = obstore.put(self._client, self._key(path), data, mode="create")
            else:
                done = obstore.put(self._client, self._key(path), data, mode={"e_tag": f'"{etag}"'})
        return Entry(path, len(data), _unquoted(done["e_tag"]))

    def delete(self, paths: Iterable[str]) -> None:
        keys = [self._key(path) for path in paths]
        for start in range(0, len(keys), DELETE_BATCH):
            batch = keys[start : start + DELETE_BATCH]
            with _told(batch[0].removeprefix(self._prefix)):
                try:
                    obstore.delete(self._client, batch)
                except (FileNotFoundError, exceptions.NotFoundError):
                    continue

    def sweep(self) -> None:
        """Nothing to do: unfinished multipart uploads are invisible; a lifecycle rule of the bucket ends them."""
