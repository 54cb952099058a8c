"""The files that indexing is measured on: small samples in tars as other tools write them, and long lines of JSON."""

import io
import json
import random
import tarfile
from pathlib import Path

SAMPLES, TARS, PARTS = 20_000, 4, ("json", "txt")
WORDS = [
    "the",
    "mill",
    "grinds",
    "rye",
    "and",
    "wheat",
    "for",
    "bread",
    "on",
    "stone",
    "by",
    "water",
    "all",
    "day",
    "long",
]


def write_tars(folder: Path, samples: int = SAMPLES, tars: int = TARS) -> int:
    """Tars with the samples, two parts each, by Python's `tarfile`. Returns their bytes."""
    folder.mkdir(parents=True)
    draw = random.Random(7)  # noqa: S311 - always the same words
    text = " ".join(draw.choices(WORDS, k=4000)).encode()
    each = samples // tars
    for number in range(tars):
        with tarfile.open(folder / f"shard_{number:03}.tar", "w") as tar:
            for sample in range(number * each, (number + 1) * each):
                contents = (json.dumps({"id": sample, "words": sample % 97}).encode(), text[: 900 + sample * 37 % 1500])
                for part, content in zip(PARTS, contents, strict=True):
                    info = tarfile.TarInfo(f"{sample:08}.{part}")
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
    return sum(path.stat().st_size for path in folder.iterdir())


def write_lines(path: Path, size: int = 100_000_000) -> int:
    """Lines of about 1,500 bytes until there are `size` bytes. Returns their number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(7)  # noqa: S311 - always the same words
    lines = written = 0
    with path.open("wb") as file:
        while written < size:
            text = " ".join(draw.choices(WORDS, k=20)) * (5 + lines % 25)
            line = (
                json.dumps({"id": f"d{lines}", "text": text, "metadata": {"n": lines, "lang": "en"}}).encode() + b"\n"
            )
            written += file.write(line)
            lines += 1
    return lines
