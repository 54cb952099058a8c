"""Upload of a large object to a bucket: in parts, with a condition on its completion.

S3 can complete a multipart upload only if the existing object has not changed. obstore uploads parts too, but cannot
ask for that (docs/internals/decisions.md). Only this file imports boto3, and only for objects larger than one request.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from gristmill.errors import Conflict, StoreError
from gristmill.lake.fence import check_fence
from gristmill.lake.store.protocol import UnfinishedUpload
from gristmill.lake.store.s3_retry import TIMEOUT, GaveUp, Problem, store_error, with_retries
from gristmill.threads import thread_pool

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

BROKEN = (HTTPClientError, BotoConnectionError, ResponseParserError, OSError)
"""Errors of broken connections and of broken answers."""

AT_ONCE = 4
"""Parts that are sent at the same time; memory holds these and one more."""

SAME_IN_BOTO3 = {"endpoint": "endpoint_url", "region": "region_name"}


def open_client(given: Mapping[str, str]) -> Any:
    """The client that sends parts, made from the options of a store; any number of threads may use it."""
    virtual = given.get("virtual_hosted_style_request", "").lower() == "true"
    settings = Config(
        connect_timeout=4,
        read_timeout=TIMEOUT,
        retries={"total_max_attempts": 1},
        max_pool_connections=2 * AT_ONCE,
        s3={"addressing_style": "virtual" if virtual else "path"},
    )
    named = {theirs: given[ours] for ours, theirs in SAME_IN_BOTO3.items() if given.get(ours)}
    return boto3.Session(profile_name=given.get("profile")).client("s3", config=settings, **named)


def _problem_of_error(error: Exception) -> Problem:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(error.response.get("Error", {}).get("Code", ""))
        if status == 200:  # a completion may fail after the status was sent; the body then holds an error
            status = 500
        return Problem(f"{status} {code}", status, code)
    if isinstance(error, NoCredentialsError):
        return Problem("it found no credentials", 401)
    if isinstance(error, (BotoCoreError, OSError)):
        return Problem(f"{type(error).__name__}: {error}"[:300], broken=isinstance(error, BROKEN))
    raise error


class Parts:
    """One multipart upload.

    Args:
        client: result of open_client().
        bucket: name of the bucket.
        key: full key of the object.
        path: path of the object in the lake, for messages.
        url: root of the lake, for messages.
        etag: etag of the object that it replaces; None: there must be none at completion.
    """

    def __init__(self, client: Any, bucket: str, key: str, path: str, url: str, etag: str | None) -> None:
        self._client = client
        self._where = {"Bucket": bucket, "Key": key}
        self._path, self._url, self._etag = path, url, etag
        self._sent: list[str] = []
        self._under_way: deque[Future[str]] = deque()
        self._id = self._send_request(lambda: str(self._client.create_multipart_upload(**self._where)["UploadId"]))
        self._threads = thread_pool(AT_ONCE)

    def _send_request(self, do: Callable[[], str]) -> str:
        try:
            return with_retries(do, _problem_of_error, self._url)[0]
        except GaveUp as error:
            raise store_error(self._path, self._url, error.trouble) from None

    def send(self, part: bytes) -> None:
        """Sends a part of 5 MiB or more (the last may be smaller); waits while `AT_ONCE` others are being sent."""
        while len(self._under_way) >= AT_ONCE:
            self._sent.append(self._under_way.popleft().result())
        number = len(self._sent) + len(self._under_way) + 1
        self._under_way.append(self._threads.submit(self._send_numbered_part, part, number))

    def _send_numbered_part(self, part: bytes, number: int) -> str:
        where = {**self._where, "UploadId": self._id, "PartNumber": number}
        return self._send_request(lambda: str(self._client.upload_part(**where, Body=part)["ETag"]))

    def complete_upload(self) -> str:
        """Completes the object.

        Returns:
            Its etag.

        Raises:
            Conflict: the existing object is not the one to be replaced.
        """
        while self._under_way:
            self._sent.append(self._under_way.popleft().result())
        parts = [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(self._sent, 1)]
        unless = {"IfNoneMatch": "*"} if self._etag is None else {"IfMatch": f'"{self._etag}"'}
        where = {**self._where, "UploadId": self._id, "MultipartUpload": {"Parts": parts}}

        def complete() -> str:
            check_fence()
            return str(self._client.complete_multipart_upload(**where, **unless)["ETag"])

        try:
            found, _ = with_retries(complete, _problem_of_error, self._url)
        except GaveUp as error:
            found = self._expected_etag()
            if not error.doubtful or self._present_etag() != found:
                if error.trouble.lost_race or error.trouble.status == 404:
                    raise Conflict(f"{self._path}: another run wrote it meanwhile; run again") from None
                raise store_error(self._path, self._url, error.trouble) from None
        self._threads.shutdown()
        return found.strip('"')

    def _expected_etag(self) -> str:
        """The etag that S3 computes from these parts. It identifies our object if the last answer was lost."""
        digest = hashlib.md5(usedforsecurity=False)
        with suppress(ValueError):  # encrypted buckets have other etags: then no object is taken for ours
            for etag in self._sent:
                digest.update(bytes.fromhex(etag.strip('"')))
        return f"{digest.hexdigest()}-{len(self._sent)}"

    def _present_etag(self) -> str:
        with suppress(StoreError):
            return self._send_request(lambda: str(self._client.head_object(**self._where)["ETag"])).strip('"')
        return ""

    def abort(self) -> None:
        """Removes the parts if the bucket answers; otherwise a lifecycle rule of the bucket removes them."""
        self._threads.shutdown(cancel_futures=True)
        with suppress(BotoCoreError, ClientError, OSError):
            self._client.abort_multipart_upload(**self._where, UploadId=self._id)


class Multipart:
    """The multipart uploads of a bucket.

    Args:
        client: result of open_client().
        bucket: name of the bucket.
        url: root of the lake, for messages.
    """

    def __init__(self, client: Any, bucket: str, url: str) -> None:
        self._client, self._bucket, self._url = client, bucket, url

    def begin_upload(self, key: str, path: str, etag: str | None) -> Parts:
        """A new upload.

        Args:
            key: key of the object in the bucket.
            path: path of the object in the lake, for messages.
            etag: etag of the object that it replaces, as in Parts.
        """
        return Parts(self._client, self._bucket, key, path, self._url, etag)

    def unfinished(self, prefix: str) -> list[UnfinishedUpload]:
        """The unfinished uploads whose keys begin with a prefix; their paths are without it."""
        found: list[UnfinishedUpload] = []
        where: dict[str, str] = {"Bucket": self._bucket, "Prefix": prefix}
        while True:
            page = self._send_request(prefix, lambda: self._client.list_multipart_uploads(**where))  # noqa: B023 - asked at once
            found += [
                UnfinishedUpload(each["Key"].removeprefix(prefix), each["UploadId"], each["Initiated"].timestamp())
                for each in page.get("Uploads", ())
                if each["Key"].startswith(prefix)
            ]
            if not page.get("IsTruncated"):
                return found
            where |= {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}

    def abort(self, key: str, upload: UnfinishedUpload) -> None:
        """Aborts an upload; one that has ended is no error.

        Args:
            key: key of its object in the bucket.
            upload: the upload.
        """

        def abort() -> None:
            try:
                self._client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload.id)
            except self._client.exceptions.NoSuchUpload:
                return

        self._send_request(upload.path, abort)

    def _send_request(self, path: str, do: Callable[[], T]) -> T:
        try:
            return with_retries(do, _problem_of_error, self._url)[0]
        except GaveUp as error:
            raise store_error(path, self._url, error.trouble) from None
