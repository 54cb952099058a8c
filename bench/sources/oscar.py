"""OSCAR lines of 2 KB from gzip to v0, validated and composed again, beside a plain loop of Python's own libraries.

Ours does what `gristmill make` does: it unpacks, validates each line against the schema, checks that the line comes
back byte for byte, hashes, compares the checksum file, and writes gzip with the index of ids. The loop unpacks, checks
each line by hand as a JSON Schema would, checks that `json` writes the same bytes again, and writes gzip. Both write
the same documents, which is compared first, and every line is composed from ours. Figures are MB of the uncompressed
lines for each second of CPU. Imports are not counted.

Run as `python -m bench.sources.oscar [LINES]`.
"""

import gzip
import hashlib
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.harness.cost import Cost
from bench.inputs.corpus import paragraphs
from gristmill.api import make, open_lake
from gristmill.formats.oscar.compose import compose_line
from gristmill.lake.rows.document import Document

LINES = 15_000
TURNS = 3
ASKED = 65.0
CONTENT = 1_150
_LABEL = re.compile(r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*")
_SHELF = """
from gristmill.readers.oscar.lines import CHECKSUMS, PARTS, OscarLines
from gristmill.recipes.source import Source

OSCAR = Source(
    name="oscar",
    convert=OscarLines(source="oscar", schema="22.01"),
    select=PARTS,
    checksums=CHECKSUMS,
    raw={raw!r},
)
"""


def made_lines(count: int, seed: int = 20_261_122) -> Iterator[bytes]:
    """Lines of about 2 KB, as the release writes them."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    stock = paragraphs()
    for number in range(count):
        text = " ".join(chance.choices(stock, k=12)).replace("\n", " ")[:CONTENT]
        pieces = [text[start : start + 140] for start in range(0, len(text), 140)]
        identified = [
            None if chance.random() < 0.3 else {"label": "en", "prob": round(chance.uniform(0.8, 1.0001), 7)}
            for _ in pieces
        ]
        line = {
            "content": "\n".join(pieces),
            "warc_headers": {
                "warc-refers-to": f"<urn:uuid:{chance.getrandbits(128):032x}>",
                "warc-target-uri": f"https://example.org/pages/{number}",
                "warc-record-id": f"<urn:uuid:{number:032x}>",
                "content-length": str(len(text)),
                "warc-block-digest": f"sha1:{chance.getrandbits(160):040X}",
                "warc-type": "conversion",
                "warc-identified-content-language": "eng",
                "warc-date": "2021-09-16T11:04:00Z",
                "content-type": "text/plain",
            },
            "metadata": {
                "identification": {"label": "en", "prob": 0.9968463},
                "annotation": ["short_sentences"],
                "sentence_identifications": identified,
            },
        }
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def ours(work: Path, turn: int) -> tuple[Cost, bytes]:
    """Makes v0 in a new lake; the documents are those of its one shard."""
    folder = work / f"lake-{turn}"
    folder.mkdir()
    lake = open_lake(str(folder), shelves=("oscarbench",))
    cost, _ = _timed(lambda: list(make(lake, "oscar/v0", shelves=("oscarbench",))))
    (shard,) = folder.glob("sources/oscar/v0/documents/**/*.gz")
    return cost, gzip.decompress(shard.read_bytes())


def loop(work: Path) -> tuple[Cost, bytes]:
    """The same by a loop over Python's gzip and json."""
    path = work / "loop.jsonl.gz"
    return _timed(lambda: _loop(work / "raw" / "2021-09" / "en" / "en.jsonl.gz", path))[0], gzip.decompress(
        path.read_bytes()
    )


def _loop(raw: Path, path: Path) -> None:
    with gzip.open(raw, "rb") as lines, gzip.open(path, "wb", 3) as sink:
        for line in lines:
            value = json.loads(line)
            _check(value)
            if json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() != line.rstrip(b"\n"):
                raise ValueError("another spelling")
            headers, oscar = value["warc_headers"], value["metadata"]
            document = {
                "id": headers["warc-record-id"],
                "text": value["content"],
                "source": "oscar",
                "created": headers["warc-date"],
                "metadata": {
                    "url": headers["warc-target-uri"],
                    "language": oscar["identification"]["label"],
                    "warc_headers": headers,
                    "oscar": oscar,
                },
            }
            sink.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _check(value: Any) -> None:
    """What the schema of 22.01 asks for."""
    _ask(isinstance(value, dict) and {"content", "warc_headers", "metadata"} <= value.keys(), "keys")
    _ask(isinstance(value["content"], str), "content")
    _ask(all(isinstance(header, str) for header in value["warc_headers"].values()), "headers")
    metadata = value["metadata"]
    _ask({"identification", "sentence_identifications"} <= metadata.keys(), "metadata")
    annotation = metadata.get("annotation")
    _ask(annotation is None or all(isinstance(name, str) for name in annotation), "annotation")
    entries = metadata["sentence_identifications"]
    _ask(len(entries) == len(value["content"].split("\n")), "lines")
    for entry in [metadata["identification"], *entries]:
        if entry is not None:
            _ask(_LABEL.fullmatch(entry["label"]) is not None, "label")
            _ask(isinstance(entry["prob"], int | float) and 0 <= entry["prob"] <= 1.001, "prob")


def _ask(holds: bool, what: str) -> None:  # noqa: FBT001 - a check
    if not holds:
        raise ValueError(what)


def _timed(work: Callable[[], Any]) -> tuple[Cost, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    done = work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall), done


def prepare(work: Path, count: int) -> list[bytes]:
    """Writes the raw release and the recipe. Returns the lines."""
    lines = list(made_lines(count))
    folder = work / "raw" / "2021-09" / "en"
    folder.mkdir(parents=True)
    packed = gzip.compress(b"".join(line + b"\n" for line in lines), 6)
    (folder / "en.jsonl.gz").write_bytes(packed)
    (folder / "en_sha256.txt").write_text(f"{hashlib.sha256(packed).hexdigest()}  en.jsonl.gz\n")
    shelf = work / "oscarbench" / "sources"
    shelf.mkdir(parents=True)
    (shelf / "oscar.py").write_text(_SHELF.format(raw=str(work / "raw")))
    sys.path.insert(0, str(work))
    return lines


def same(rows: bytes, expected: bytes, lines: list[bytes]) -> bool:
    """Whether ours has the documents of the loop, and gives every line back."""
    found = [json.loads(row) for row in rows.splitlines()]
    for document in found:
        del document["metadata"]["oscar_line"]  # the digest by which ours recognises an edited text
    composed = [compose_line(msgspec.json.decode(row, type=Document)) for row in rows.split(b"\n") if row]
    return composed == lines and found == [json.loads(row) for row in expected.split(b"\n") if row]


def main() -> int:
    """Prints the figures. The exit code is 1 if the documents differ."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else LINES
    with tempfile.TemporaryDirectory(prefix="gristmill-oscar-") as temporary:
        work = Path(temporary)
        lines = prepare(work, count)
        size = sum(map(len, lines)) / 1e6
        turns = [ours(work, turn) for turn in range(TURNS)]
        best = min((cost for cost, _ in turns), key=lambda cost: cost.cpu_s)
        peer, expected = loop(work)
        agree = all(same(rows, expected, lines) for _, rows in turns)
        print(
            f"{count:,} lines, {size:.1f} MB: ours {size / best.cpu_s:.1f} MB/CPU-s ({ASKED:.0f} asked), loop"
            f" {size / peer.cpu_s:.1f}; CPU {peer.cpu_s / best.cpu_s:.2f}x, wall {peer.wall_s / best.wall_s:.2f}x;"
            f" documents {'are the same' if agree else 'DIFFER'}"
        )
        return int(not agree)


if __name__ == "__main__":
    sys.exit(main())
