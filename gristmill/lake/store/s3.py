"""A lake in an S3 bucket. The only file that imports a bucket client (obstore; see docs/decisions.md)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import obstore
from obstore import exceptions
from obstore.store import S3Store

from gristmill.errors import Conflict, RecipeError, StoreError
from gristmill.lake.store.protocol import PIECE, Entry, check_path, check_prefix
from gristmill.lake.store.s3_retry import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    NO_BUCKET,
    PATIENCE,
    TIMEOUT,
    GaveUp,
    Trouble,
    patiently,
    read_trouble,
    store_error,
)
from gristmill.lake.store.s3_upload import BucketUpload

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, PutMode

    from gristmill.lake.store.s3_multipart import Parts

T = TypeVar("T")

STEP = 8 << 20
"""Bytes that one request reads of an object that is streamed; the next ones are on their way meanwhile."""

DELETE_BATCH = 1000

_SECRET = re.compile(r"secret|access_key|token|password|credential|^sse_customer")
"""Options of the client's that a lake is never given."""


def _trouble(error: Exception) -> Trouble:
    if not isinstance(error, (exceptions.BaseError, OSError)):
        raise error
    trouble = read_trouble(error)
    missing = isinstance(error, (FileNotFoundError, exceptions.NotFoundError))
    return msgspec.structs.replace(trouble, status=404) if missing else trouble


def _unquoted(etag: str | None) -> str:
    return (etag or "").strip('"')


class BucketStore:
    """A Store over `s3://bucket/prefix`. Credentials come from the environment alone.

    Raises:
        RecipeError: an option is a credential: options stand in plans, which lie in the lake.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        for name in options:
            if _SECRET.search(name.lower()):
                raise RecipeError(f"{url}: option {name}: credentials are taken from the environment alone: AWS_...")
        self._url = url.rstrip("/")
        bucket, _, prefix = self._url.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._bucket = bucket
        self._options = {key: value for key, value in options.items() if value}
        # A listing that broke off begins anew, so its pages are tried again by the client; all else is by us, because
        # only we can tell whether a write was done although no answer came.
        self._part_client: Any = None
        self._lists, self._client = self._open(retries=100), self._open(retries=0)

    def _open(self, retries: int) -> S3Store:
        return S3Store(
            self._bucket,
            config=self._options,  # type: ignore[arg-type]  # any of obstore's names
            client_options={"allow_http": True, "timeout": timedelta(seconds=TIMEOUT)},
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=PATIENCE),
                "backoff": {
                    "init_backoff": timedelta(seconds=FIRST_PAUSE),
                    "max_backoff": timedelta(seconds=LONGEST_PAUSE),
                    "base": 2,
                },
            },
        )

    def _ask(self, path: str, do: Callable[[], T]) -> T:
        """What a request gives. The client's own texts go no further: they may hold the id of a key."""
        try:
            return patiently(do, _trouble)[0]
        except GaveUp as error:
            raise store_error(path, self._url, error.trouble) from None

    def _find(self, path: str, do: Callable[[], T]) -> T | None:
        """What a request gives, or None if there is no such object."""
        try:
            return patiently(do, _trouble)[0]
        except GaveUp as error:
            if error.trouble.status == 404 and error.trouble.code != NO_BUCKET:
                return None
            raise store_error(path, self._url, error.trouble) from None

    @property
    def url(self) -> str:
        return self._url

    def _key(self, path: str) -> str:
        return self._prefix + check_path(path)

    def _entry(self, meta: "ObjectMeta") -> Entry:
        path = meta["path"].removeprefix(self._prefix)
        return Entry(path, meta["size"], _unquoted(meta["e_tag"]))

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        top = self._prefix + check_prefix(prefix)
        for page in self._pages(prefix, top, after):
            for meta in page:
                entry = self._entry(meta)
                if meta["path"].startswith(top) and not self._is_folder_marker(entry):
                    yield entry

    def _pages(self, prefix: str, top: str, after: str) -> Iterator[Sequence["ObjectMeta"]]:
        """Page by page. Where an answer breaks off, all is listed again, up to what was given already."""
        offset = self._prefix + after if after else None
        pages: Iterator[Sequence[ObjectMeta]] | None = None
        last = ""

        def following() -> Sequence["ObjectMeta"]:
            nonlocal pages
            try:
                if pages is None:
                    pages = _behind(last, obstore.list(self._lists, top.rstrip("/") or None, offset=offset))
                return next(pages, ())
            except Exception:
                pages = None
                raise

        while page := self._ask(prefix, following):
            last = page[-1]["path"]
            yield page

    def folders(self, prefix: str) -> Iterator[str]:
        top = (self._prefix + check_prefix(prefix)).rstrip("/") or None
        found = self._ask(prefix, lambda: obstore.list_with_delimiter(self._lists, top)["common_prefixes"])
        yield from sorted(f"{name.rstrip('/').removeprefix(self._prefix)}/" for name in found)

    def _is_folder_marker(self, entry: Entry) -> bool:
        """Consoles make empty objects named `folder/`; the client lists them without the slash."""
        return entry.size == 0 and self.head(entry.path) is None

    def head(self, path: str) -> Entry | None:
        key = self._key(path)
        found = self._find(path, lambda: obstore.head(self._client, key))
        return self._entry(found) if found else None

    def read(self, path: str) -> bytes:
        found = self.read_tagged(path)
        if found is None:
            raise self._missing(path)
        return found[0]

    def _missing(self, path: str) -> StoreError:
        return StoreError(f"{path}: no such object in {self.url}")

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        key = self._key(path)

        def get() -> tuple[bytes, str]:
            got = obstore.get(self._client, key)
            return bytes(got.bytes()), _unquoted(got.meta["e_tag"])

        return self._find(path, get)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        key = self._key(path)
        if start == end:
            return b""
        data = self._find(path, lambda: bytes(obstore.get_range(self._client, key, start=start, end=end)))
        if data is None:
            raise self._missing(path)
        if len(data) != end - start:
            raise StoreError(f"{path}: has no bytes {start} to {end}: it was replaced meanwhile; try again")
        return data

    def stream(self, path: str) -> Iterator[bytes]:
        """Piece by piece in requests of their own: however slowly it is read, none takes long, each is tried again."""
        data, entry = self._step(path, 0, None)
        if entry.size <= len(data):
            yield from _pieces(data)
            return
        with ThreadPoolExecutor(1) as ahead:
            for start in range(STEP, entry.size, STEP):
                coming = ahead.submit(self._step, path, start, entry)
                yield from _pieces(data)
                data, _ = coming.result()
            yield from _pieces(data)

    def _step(self, path: str, start: int, whole: Entry | None) -> tuple[memoryview, Entry]:
        """The STEP bytes from `start`, of the object that the first step has seen."""
        key = self._key(path)
        options: GetOptions = {"range": (start, min(start + STEP, whole.size) if whole else STEP)}
        if whole:
            options["if_match"] = f'"{whole.etag}"'

        def get() -> tuple[memoryview, Entry]:
            got = obstore.get(self._client, key, options=options)
            return memoryview(got.bytes()), self._entry(got.meta)

        try:
            data, entry = patiently(get, _trouble)[0]
        except GaveUp as error:
            if not start and error.trouble.status == 416:  # an empty object has no ranges
                return memoryview(b""), Entry(path, 0, "")
            if error.trouble.status == 412:
                raise self._replaced(path) from None
            raise store_error(path, self._url, error.trouble) from None
        if len(data) != min(start + STEP, entry.size) - start or (whole and entry.size != whole.size):
            raise self._replaced(path)
        return data, entry

    def _replaced(self, path: str) -> StoreError:
        return StoreError(f"{path}: it was replaced while it was read; try again")

    def upload(self, path: str) -> BucketUpload:
        check_path(path)
        return BucketUpload(self, path)

    def open_parts(self, path: str, etag: str | None) -> "Parts":
        """A multipart upload that ends well if the object is still the one with this etag (None: if there is none)."""
        from gristmill.lake.store.s3_multipart import Parts, open_client  # noqa: PLC0415 - boto3 is dear to import

        if self._part_client is None:
            self._part_client = open_client(self._options)
        return Parts(self._part_client, self._bucket, self._key(path), path, self._url, etag)

    def put(self, path: str, data: bytes) -> Entry:
        key = self._key(path)
        done = self._ask(path, lambda: obstore.put(self._client, key, data, use_multipart=False))
        return Entry(path, len(data), _unquoted(done["e_tag"]))

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        key = self._key(path)
        mode: PutMode = "create" if etag is None else {"e_tag": f'"{etag}"'}
        try:
            done, _ = patiently(lambda: obstore.put(self._client, key, data, mode=mode), _trouble)
        except GaveUp as error:
            # A try before this one may have been heard though its answer was lost: then what is there is ours.
            found = self.read_tagged(path) if error.doubtful and not error.trouble.passing else None
            if found and found[0] == data:
                return Entry(path, len(data), found[1])
            trouble = error.trouble
            if trouble.lost_race or (trouble.status == 404 and trouble.code != NO_BUCKET):
                raise Conflict(f"{path}: another run wrote it meanwhile; run again") from None
            raise store_error(path, self._url, trouble) from None
        return Entry(path, len(data), _unquoted(done["e_tag"]))

    def delete(self, paths: Iterable[str]) -> None:
        keys = [self._key(path) for path in paths]
        for start in range(0, len(keys), DELETE_BATCH):
            batch = keys[start : start + DELETE_BATCH]
            self._ask(batch[0].removeprefix(self._prefix), partial(obstore.delete, self._client, batch))

    def sweep(self) -> None:
        """Nothing to do: unfinished multipart uploads are invisible; a lifecycle rule of the bucket ends them."""


def _pieces(data: memoryview) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE):
        yield bytes(data[start : start + PIECE])


def _behind(last: str, pages: "Iterable[Sequence[ObjectMeta]]") -> "Iterator[Sequence[ObjectMeta]]":
    """What comes behind an object in a listing (all of it behind ""); servers keep their order."""
    missing = last
    for page in pages:
        found = page
        if missing:
            names = [meta["path"] for meta in page]
            if missing not in names:
                continue
            found = page[names.index(missing) + 1 :]
            missing = ""
        if found:
            yield found
    if missing:
        raise StoreError(f"{missing}: it is gone since it was listed, and the listing broke off; try again")
