"""A server that lists keys that nobody stored: `python -m bench.lakes.key_server OBJECTS SNAPSHOTS LATENCY_MS`.

It speaks as much of S3 as a listing needs: ListObjectsV2 with prefix, start-after, continuation tokens and pages of a
thousand, in byte order. Keys follow from their number; a PUT gives its key another etag. A million objects in a real
server would take an hour to make; what is measured is who lists them. It prints its port.
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 1_000
PREFIX = "sources/bench/raw/"
NAMEPLATE = '{"id":"00000000000000000000000000000000","schema":1}'
_ITEM = (
    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


class Keys(BaseHTTPRequestHandler):
    """The key space, and the verbs over it."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[int] = 0
    each: ClassVar[int] = 1
    latency: ClassVar[float] = 0.0
    changed: ClassVar[dict[str, int]] = {}
    requests: ClassVar[int] = 0

    @classmethod
    def key(cls, number: int) -> str:
        """The key of an object, in order."""
        return f"{PREFIX}snapshot-{number // cls.each:04d}/part-{number % cls.each:06d}.jsonl.gz"

    @classmethod
    def behind(cls, key: str) -> int:
        """The number of the first object whose key comes after this one."""
        low, high = 0, cls.objects
        while low < high:
            middle = (low + high) // 2
            if cls.key(middle) <= key:
                low = middle + 1
            else:
                high = middle
        return low

    def do_GET(self) -> None:
        """A page of the listing; of objects, the lake id alone."""
        Keys.requests += 1
        if urlsplit(self.path).path.endswith("/lake.json"):
            self._answer(NAMEPLATE)
            return
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        start = int(asked.get("continuation-token") or self.behind(asked.get("start-after", "")))
        end = min(start + PAGE, self.objects)
        time.sleep(self.latency)
        items = "".join(
            _ITEM.format(key=key, etag=f"{number:032x}-{self.changed.get(key, 1)}", size=1_000_000 + number)
            for number in range(start, end)
            for key in (self.key(number),)
        )
        more = end < self.objects
        token = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
        self._answer(
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>bench</Name><Prefix>{PREFIX}</Prefix><KeyCount>{end - start}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}</ListBucketResult>"
        )

    def do_PUT(self) -> None:
        """Another etag for a key."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        key = unquote(urlsplit(self.path).path).removeprefix("/bench/")
        self.changed[key] = self.changed.get(key, 1) + 1
        self._answer("")

    def _answer(self, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.send_header("etag", '"0"')
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """A line a request would be the larger part of the work."""


def main() -> None:
    """Serves until it is ended."""
    objects, snapshots, latency = (int(word) for word in sys.argv[1:4])
    Keys.objects, Keys.each, Keys.latency = objects, objects // snapshots, latency / 1_000
    server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
