"""A large object on its way into a bucket: parts, and a conditional completion.

obstore writes in parts too, but cannot say at the end "only if the object is still the one that I saw"; S3 can
(docs/decisions.md). This file alone imports boto3, and only when an object is larger than one request.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from gristmill.errors import Conflict, StoreError
from gristmill.lake.store.s3_retry import TIMEOUT, GaveUp, Trouble, patiently, store_error

BROKEN = (HTTPClientError, BotoConnectionError, ResponseParserError, OSError)
"""Errors of connections, and of answers that broke off."""

AT_ONCE = 4
"""Parts that are sent at the same time; as many are held in memory, and one more."""

SAME_IN_BOTO3 = {"endpoint": "endpoint_url", "region": "region_name"}


def open_client(given: Mapping[str, str]) -> Any:
    """The client that sends parts, by the options of a store; it may be used by many threads."""
    virtual = given.get("virtual_hosted_style_request", "").lower() == "true"
    settings = Config(
        connect_timeout=5,
        read_timeout=TIMEOUT,
        retries={"total_max_attempts": 1},
        max_pool_connections=2 * AT_ONCE,
        s3={"addressing_style": "virtual" if virtual else "path"},
    )
    named = {theirs: given[ours] for ours, theirs in SAME_IN_BOTO3.items() if given.get(ours)}
    return boto3.Session().client("s3", config=settings, **named)


def _trouble(error: Exception) -> Trouble:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(error.response.get("Error", {}).get("Code", ""))
        if status == 200:  # a completion that failed half way: the body says so
            status = 500
        return Trouble(f"{status} {code}", status, code)
    if isinstance(error, NoCredentialsError):
        return Trouble("it found no credentials", 401)
    if isinstance(error, (BotoCoreError, OSError)):
        return Trouble(f"{type(error).__name__}: {error}"[:300], broken=isinstance(error, BROKEN))
    raise error


class Parts:
    """One multipart upload.

    Args:
        client: as open_client() gives it.
        bucket: the bucket.
        key: the object's whole key.
        path: as the lake calls it; for errors.
        url: the lake's; for errors.
        etag: the object that it replaces, or None: there must be none at the end.
    """

    def __init__(self, client: Any, bucket: str, key: str, path: str, url: str, etag: str | None) -> None:
        self._client = client
        self._where = {"Bucket": bucket, "Key": key}
        self._path, self._url, self._etag = path, url, etag
        self._sent: list[str] = []
        self._under_way: deque[Future[str]] = deque()
        self._id = self._ask(lambda: str(self._client.create_multipart_upload(**self._where)["UploadId"]))
        self._threads = ThreadPoolExecutor(AT_ONCE)

    def _ask(self, do: Callable[[], str]) -> str:
        try:
            return patiently(do, _trouble)[0]
        except GaveUp as error:
            raise store_error(self._path, self._url, error.trouble) from None

    def send(self, part: bytes) -> None:
        """Sends a part of at least 5 MiB (the last one may be smaller); waits while others are under way."""
        while len(self._under_way) >= AT_ONCE:
            self._sent.append(self._under_way.popleft().result())
        number = len(self._sent) + len(self._under_way) + 1
        self._under_way.append(self._threads.submit(self._send, part, number))

    def _send(self, part: bytes, number: int) -> str:
        where = {**self._where, "UploadId": self._id, "PartNumber": number}
        return self._ask(lambda: str(self._client.upload_part(**where, Body=part)["ETag"]))

    def complete(self) -> str:
        """Makes the object of its parts; its etag.

        Raises:
            Conflict: another object is there than at the beginning.
        """
        while self._under_way:
            self._sent.append(self._under_way.popleft().result())
        parts = [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(self._sent, 1)]
        unless = {"IfNoneMatch": "*"} if self._etag is None else {"IfMatch": f'"{self._etag}"'}
        where = {**self._where, "UploadId": self._id, "MultipartUpload": {"Parts": parts}}
        try:
            found, _ = patiently(
                lambda: str(self._client.complete_multipart_upload(**where, **unless)["ETag"]), _trouble
            )
        except GaveUp as error:
            found = self._expected()
            if not error.doubtful or self._there() != found:
                if error.trouble.lost_race or error.trouble.status == 404:
                    raise Conflict(f"{self._path}: another run wrote it meanwhile; run again") from None
                raise store_error(self._path, self._url, error.trouble) from None
        self._threads.shutdown()
        return found.strip('"')

    def _expected(self) -> str:
        """The etag that S3 gives to these parts: it tells our object when the answer to its completion was lost."""
        digest = hashlib.md5(usedforsecurity=False)
        with suppress(ValueError):  # encrypted buckets have other etags: then nothing is ever taken for ours
            for etag in self._sent:
                digest.update(bytes.fromhex(etag.strip('"')))
        return f"{digest.hexdigest()}-{len(self._sent)}"

    def _there(self) -> str:
        with suppress(StoreError):
            return self._ask(lambda: str(self._client.head_object(**self._where)["ETag"])).strip('"')
        return ""

    def abort(self) -> None:
        """Removes the parts, as far as the bucket answers; a lifecycle rule does the rest."""
        self._threads.shutdown(cancel_futures=True)
        with suppress(BotoCoreError, ClientError, OSError):
            self._client.abort_multipart_upload(**self._where, UploadId=self._id)
