"""A lake in an S3 bucket. No other file imports the bucket client obstore (see docs/internals/decisions.md)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import obstore
from obstore import exceptions
from obstore.store import S3Store

from gristmill.errors import Conflict, RecipeError, StoreError
from gristmill.lake.fence import check_fence, check_still
from gristmill.lake.store.credentials import bucket_keys
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import (
    DELETE_BATCH,
    PIECE,
    Entry,
    ObjectVersion,
    UnfinishedUpload,
    check_path,
    check_prefix,
)
from gristmill.lake.store.s3_listing import note_page_begin, pages_after
from gristmill.lake.store.s3_retry import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    NO_BUCKET,
    PATIENCE,
    TIMEOUT,
    GaveUp,
    Problem,
    read_problem,
    store_error,
    translate_client_panics,
    with_retries,
)
from gristmill.lake.store.s3_upload import BucketUpload
from gristmill.threads import thread_pool

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta, PutMode

    from gristmill.lake.store.s3_multipart import Multipart, Parts

T = TypeVar("T")

STEP = 8 << 20
"""Bytes per request while an object is streamed. The next request runs while these bytes are used."""

CONNECT = timedelta(seconds=4)
"""For a connection, so that an address where nothing answers is known as one within 5 s."""


def _problem_of_error(error: Exception) -> Problem:
    if not isinstance(error, (exceptions.BaseError, OSError)):
        raise error
    trouble = read_problem(error)
    missing = isinstance(error, (FileNotFoundError, exceptions.NotFoundError))
    return msgspec.structs.replace(trouble, status=404) if missing else trouble


def _unquote_etag(etag: str | None) -> str:
    return (etag or "").strip('"')


class BucketStore:
    """A Store over `s3://bucket/prefix`. Credentials come from the environment alone.

    Args:
        url: root of the lake.
        options: options of the client, such as endpoint and region.
        access: credentials of a bucket that only holds raw data; None: those of the environment.

    Raises:
        RecipeError: the client does not know an option, or cannot read its value.
    """

    def __init__(self, url: str, options: Mapping[str, str], access: Access | None = None) -> None:
        self._url, self._access = url.rstrip("/"), access
        bucket, _, prefix = self._url.removeprefix("s3://").partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._bucket = bucket
        self._options = {key: value for key, value in options.items() if value}
        self._keys, region = bucket_keys(self._options.get("profile", ""), access)
        self._options = {**({"region": region} if region else {}), **self._options}
        # The client retries the pages of a listing, because a broken listing has to begin anew. We retry all else: only
        # we can tell whether a write was done although its answer was lost.
        self._part_client: Any = None
        proxied = any("proxy" in name.lower() for name in self._options)
        self._server = self._url if proxied else self._options.get("endpoint") or self._url
        try:
            with translate_client_panics():
                self._lists, self._client = self._open_client(retries=100), self._open_client(retries=0)
        except exceptions.BaseError as error:
            reason = str(error).partition("\n")[0]
            raise RecipeError(
                f"{url}: {reason} Options are KEY=VALUE, such as endpoint=http://host:port and region=us-east-1"
            ) from None

    def _open_client(self, retries: int) -> S3Store:
        access = self._access
        unsigned = {} if access is None else {"skip_signature": access.anonymous}
        named = {name: value for name, value in self._options.items() if name != "profile"}
        return S3Store(
            self._bucket,
            config={**named, **unsigned},  # type: ignore[arg-type]  # any of obstore's names
            credential_provider=self._keys,
            client_options={"allow_http": True, "timeout": timedelta(seconds=TIMEOUT), "connect_timeout": CONNECT},
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

    def _send_request(self, path: str, do: Callable[[], T]) -> T:
        """The result of a request. Errors never quote the client's texts: these may contain the id of an access key."""
        try:
            return with_retries(do, _problem_of_error, self._server)[0]
        except GaveUp as error:
            raise self._request_error(path, error.trouble) from None

    def _find_or_none(self, path: str, do: Callable[[], T]) -> T | None:
        """The result of a request, or None if there is no such object."""
        try:
            return with_retries(do, _problem_of_error, self._server)[0]
        except GaveUp as error:
            if error.trouble.status == 404 and error.trouble.code != NO_BUCKET:
                return None
            raise self._request_error(path, error.trouble) from None

    @property
    def url(self) -> str:
        return self._url

    def _object_key(self, path: str) -> str:
        return self._prefix + check_path(path)

    def _entry_of_meta(self, meta: "ObjectMeta") -> Entry:
        path = meta["path"].removeprefix(self._prefix)
        return Entry(path, meta["size"], _unquote_etag(meta["e_tag"]))

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:  # noqa: ARG002 - see Store
        top = self._prefix + check_prefix(prefix)
        for page in self._listing_pages(prefix, top, after):
            for meta in page:
                entry = self._entry_of_meta(meta)
                if meta["path"].startswith(top) and not self._is_folder_marker(entry):
                    yield entry

    def _listing_pages(self, prefix: str, top: str, after: str) -> Iterator[Sequence["ObjectMeta"]]:
        """The pages of a listing. If an answer breaks off, the listing begins anew and skips the pages it has given."""
        offset = self._prefix + after if after else None
        pages: Iterator[Sequence[ObjectMeta]] | None = None
        last = ""

        def following() -> Sequence["ObjectMeta"]:
            nonlocal pages
            try:
                if pages is None:
                    pages = pages_after(last, obstore.list(self._lists, top.rstrip("/") or None, offset=offset))
                return next(pages, ())
            except Exception:
                pages = None
                raise

        begins: set[str] = set()
        while page := self._send_request(prefix, following):
            note_page_begin(page, begins)
            last = page[-1]["path"]
            yield page

    def folders(self, prefix: str) -> Iterator[str]:
        top = (self._prefix + check_prefix(prefix)).rstrip("/") or None
        names = self._send_request(prefix, lambda: obstore.list_with_delimiter(self._lists, top)["common_prefixes"])
        yield from sorted(f"{name.rstrip('/').removeprefix(self._prefix)}/" for name in names)

    def _is_folder_marker(self, entry: Entry) -> bool:
        """Whether a console created this entry: an empty object `folder/`, which the client lists without the slash."""
        return entry.size == 0 and self.head(entry.path) is None

    def head(self, path: str) -> Entry | None:
        key = self._object_key(path)
        meta = self._find_or_none(path, lambda: obstore.head(self._client, key))
        return self._entry_of_meta(meta) if meta else None

    def read(self, path: str) -> bytes:
        tagged = self.read_tagged(path)
        if tagged is None:
            raise self._missing_object_error(path)
        return tagged[0]

    def _request_error(self, path: str, trouble: Problem) -> StoreError:
        return store_error(path, self._url, trouble, self._access)

    def _missing_object_error(self, path: str) -> StoreError:
        return StoreError(f"{path}: no such object in {self.url}")

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        key = self._object_key(path)

        def get() -> tuple[bytes, str]:
            got = obstore.get(self._client, key)
            return bytes(got.bytes()), _unquote_etag(got.meta["e_tag"])

        return self._find_or_none(path, get)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        key = self._object_key(path)
        if start == end:
            return b""
        data = self._find_or_none(path, lambda: bytes(obstore.get_range(self._client, key, start=start, end=end)))
        if data is None:
            raise self._missing_object_error(path)
        if len(data) != end - start:
            raise StoreError(f"{path}: it has no bytes {start} to {end}: it was replaced meanwhile; try again")
        return data

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        # Each request is short and is retried, however slowly the caller reads.
        if start and version and start >= version.size:
            return
        data, entry = self._read_step(path, start, Entry(path, version.size, version.etag) if version else None)
        if entry.size <= start + len(data):
            yield from _cut_into_pieces(data)
            return
        with thread_pool(1) as ahead:
            for following in range(start + STEP, entry.size, STEP):
                coming = ahead.submit(self._read_step, path, following, entry)
                yield from _cut_into_pieces(data)
                data, _ = coming.result()
            yield from _cut_into_pieces(data)

    def _read_step(self, path: str, start: int, whole: Entry | None) -> tuple[memoryview, Entry]:
        """The STEP bytes from `start`, of the object `whole` that a listing or the first step found."""
        key = self._object_key(path)
        options: GetOptions = {
            "range": (start, min(start + STEP, whole.size) if whole and whole.size else start + STEP)
        }
        if whole:
            options["if_match"] = f'"{whole.etag}"'

        def get() -> tuple[memoryview, Entry]:
            got = obstore.get(self._client, key, options=options)
            return memoryview(got.bytes()), self._entry_of_meta(got.meta)

        try:
            data, entry = with_retries(get, _problem_of_error, self._server)[0]
        except GaveUp as error:
            if (
                error.trouble.status == 416 and not start and not (whole and whole.size)
            ):  # an empty object has no ranges
                return memoryview(b""), Entry(path, 0, "")
            if error.trouble.status == 412:
                raise self._replaced_object_error(path) from None
            raise self._request_error(path, error.trouble) from None
        if len(data) != min(start + STEP, entry.size) - start or (whole and entry.size != whole.size):
            raise self._replaced_object_error(path)
        return data, entry

    def _replaced_object_error(self, path: str) -> StoreError:
        return StoreError(f"{path}: it was replaced while it was read; try again")

    def upload(self, path: str) -> BucketUpload:
        check_path(path)
        return BucketUpload(self, path)

    def open_parts(self, path: str, etag: str | None) -> "Parts":
        """A multipart upload, which completes only if the existing object still has an etag.

        Args:
            path: path of the object.
            etag: etag of the existing object; None: there must be none.
        """
        return self._open_multipart_client().begin_upload(self._object_key(path), path, etag)

    def put(self, path: str, data: bytes) -> Entry:
        key = self._object_key(path)

        def put() -> str | None:
            check_fence()
            return obstore.put(self._client, key, data, use_multipart=False)["e_tag"]

        return Entry(path, len(data), _unquote_etag(self._send_request(path, put)))

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        key = self._object_key(path)
        mode: PutMode = "create" if etag is None else {"e_tag": f'"{etag}"'}

        def put() -> str | None:
            check_fence()
            return obstore.put(self._client, key, data, mode=mode)["e_tag"]

        try:
            done, _ = with_retries(put, _problem_of_error, self._server)
        except GaveUp as error:
            # An earlier try may have succeeded although its answer was lost: then the existing object is ours.
            tagged = self.read_tagged(path) if error.doubtful and not error.trouble.is_passing else None
            if tagged and tagged[0] == data:
                return Entry(path, len(data), tagged[1])
            trouble = error.trouble
            if trouble.lost_race or (trouble.status == 404 and trouble.code != NO_BUCKET):
                raise Conflict(f"{path}: another run wrote it meanwhile; run again") from None
            raise self._request_error(path, trouble) from None
        return Entry(path, len(data), _unquote_etag(done))

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        keys = [self._object_key(path) for path in paths]
        for start in range(0, len(keys), DELETE_BATCH):
            self._delete_batch(keys[start : start + DELETE_BATCH], still)

    def _delete_batch(self, batch: Sequence[str], still: Callable[[], bool] | None) -> None:
        path = batch[0].removeprefix(self._prefix)

        def delete() -> None:
            check_still(path, still)
            obstore.delete(self._client, batch)

        self._send_request(path, delete)

    def sweep(self) -> None:
        """Does nothing: a bucket does not tell whether the writer of an unfinished upload lives; see unfinished()."""

    def unfinished(self) -> Sequence[UnfinishedUpload]:
        return self._open_multipart_client().unfinished(self._prefix)

    def abort(self, upload: UnfinishedUpload) -> None:
        self._open_multipart_client().abort(self._object_key(upload.path), upload)

    def _open_multipart_client(self) -> "Multipart":
        from gristmill.lake.store.s3_multipart import Multipart, open_client  # noqa: PLC0415 - boto3 is dear to import

        if self._part_client is None:
            self._part_client = open_client(self._options)
        return Multipart(self._part_client, self._bucket, self._url)


def _cut_into_pieces(data: memoryview) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE):
        yield bytes(data[start : start + PIECE])
