"""Lines of OSCAR v2 that tests make, and the real ones of the sample data."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

CONTENT = "Zwölf Boxkämpfer\njagen\r\n\nViktor\u2028quer"
"""Four lines: split at LF alone."""


def make_line(number: int = 0, schema: str = "22.01", content: str = CONTENT, **metadata: Any) -> dict[str, Any]:
    """A valid line of a schema, keys in the order of the release, each line of its content identified but the second.

    Args:
        number: in the record id.
        schema: `22.01` or `23.01`.
        content: the text.
        metadata: changes of the line's metadata.
    """
    count = content.count("\n") + (content[-1:] not in {"", "\n"})
    identified = [None if n == 1 else {"label": "de", "prob": 0.8 + n / 64} for n in range(count)]
    first: dict[str, Any] = {"identification": {"label": "de", "prob": 1.000088}}
    middle: dict[str, Any] = {"annotation": ["tiny"]}
    if schema == "23.01":
        middle = {"harmful_pp": 4063.1814, "tlsh": None, "quality_warnings": ["tiny"], "categories": ["blog"]}
    return {
        "content": content,
        "warc_headers": {
            "warc-target-uri": f"https://example.org/{number}",
            "content-type": "text/plain",
            "warc-record-id": f"<urn:uuid:{number:08d}>",
            "warc-date": "2021-09-16T11:07:14Z",
        },
        "metadata": {**first, **middle, "sentence_identifications": identified, **metadata},
    }


def as_written(line: Any) -> bytes:
    """A line as the releases write it: no spaces, no escapes of what is not ASCII."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def real_parts() -> list[Path]:
    """The parts of the real release among the sample data; a test without the data is skipped."""
    data = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if not data:
        pytest.skip("no sample data: GRISTMILL_SAMPLE_DATA is not set")
    return sorted(Path(data, "raw", "oscar", "2021-09").glob("*/*.jsonl.gz"))


def real_lines() -> list[bytes]:
    """The 28 real lines, without line feeds."""
    return [line for part in real_parts() for line in gzip.decompress(part.read_bytes()).split(b"\n") if line]
