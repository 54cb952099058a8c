"""Reports of an S3 Inventory as Amazon writes them, about a lake in a real bucket."""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Sequence
from urllib.parse import quote_plus

from seaweed import BUCKET, Seaweed

from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry
from gristmill.raw_data.inventory import Inventory

SCHEMA = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, ETag"


class Reports:
    """A lake below one prefix of the server's bucket, and reports about it below another."""

    def __init__(self, server: Seaweed, name: str) -> None:
        self.options = server.options
        self.lake = server.store(f"{name}/lake")
        self.top = f"{name}/reports"
        self.reports = open_store(f"s3://{BUCKET}", server.options)

    def write(self, when: str, seconds: int, sheets: Sequence[Sequence[Entry]], **changed: object) -> None:
        """A report of these entries, a list a file; fields of its manifest may be given otherwise."""
        named: list[dict[str, object]] = []
        for number, entries in enumerate(sheets):
            sheet = io.StringIO()
            rows = csv.writer(sheet, quoting=csv.QUOTE_ALL, lineterminator="\n")
            for entry in entries:
                key = self.lake.url.removeprefix(f"s3://{BUCKET}/") + "/" + entry.path
                rows.writerow([BUCKET, quote_plus(key, safe="/"), "", "true", "false", entry.size, entry.etag])
            data = gzip.compress(sheet.getvalue().encode(), mtime=0)
            path = f"{self.top}/data/{when}-{number}.csv.gz"
            self.reports.put(path, data)
            named.append({"key": path, "size": len(data), "MD5checksum": hashlib.md5(data).hexdigest()})
        manifest: dict[str, object] = {"sourceBucket": BUCKET, "version": "2016-11-30"}
        manifest |= {"creationTimestamp": f"{seconds}000", "fileFormat": "CSV", "fileSchema": SCHEMA, "files": named}
        self.reports.put(f"{self.top}/{when}/manifest.json", json.dumps({**manifest, **changed}).encode())

    def newest(self, held: str = "") -> Inventory:
        return Inventory(f"s3://{BUCKET}/{self.top}/", held or self.lake.url, self.options)
