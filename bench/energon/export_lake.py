"""A lake whose mix is to be exported: documents with 2.7 KB of text, made of the bench's corpus."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from bench.harness.cost import timed
from bench.harness.place import SOURCE
from bench.inputs.corpus import texts
from bench.inputs.shelf import PACKAGE, raw_folder, variables, write_shelf

MIX = "plain"
TEXT = 2_700
"""Characters of a text."""
_MIX = """
from gristmill.recipes.mix import Mix, Stream

PLAIN = Mix(name="plain", streams=(Stream(source="bench", version="v0"),))
"""
_STOCK = 20_000_000
"""Characters of different texts; shards repeat them under other ids."""


def make_lake(work: Path, shards: Sequence[int], length: int = TEXT) -> tuple[Path, int]:
    """Makes the documents of a mix.

    Args:
        work: an empty folder, for the lake and its recipes.
        shards: number of documents of each shard.
        length: characters of a text.

    Returns:
        The lake, and the bytes of all texts.
    """
    write_shelf(work)
    mixes = work / PACKAGE / "mixes"
    mixes.mkdir()
    (mixes / "__init__.py").touch()
    (mixes / "plain.py").write_text(_MIX)
    lake = work / "lake"
    raw = raw_folder(lake)
    raw.mkdir(parents=True)
    size, pool = 0, list(_texts(min(_STOCK, max(shards) * length), length))
    for number, rows in enumerate(shards):
        with (raw / f"shard-{number:04}.jsonl").open("wb") as file:
            for row in range(rows):
                text = pool[row % len(pool)]
                size += len(text.encode())
                file.write(_line(f"{number}-{row}", text))
    command = [sys.executable, "-m", "bench.stages.steps", "convert", f"mix:{MIX}"]
    timed(command, work / "mix.log", variables(work, lake))
    return lake, size


def _texts(size: int, length: int) -> Iterator[str]:
    """Texts of one length each, and at least one."""
    if length > size:
        stock = "".join(texts(7, size))
        yield (stock * (length // len(stock) + 1))[:length]
        return
    rest = ""
    for text in texts(7, size):
        rest += text
        while len(rest) >= length:
            yield rest[:length]
            rest = rest[length:]


def _line(name: str, text: str) -> bytes:
    facts = {"url": f"https://example.org/pages/{name}", "language": "en", "words": text.count(" ") + 1}
    row = {"id": name, "text": text, "source": SOURCE, "added": "2024-01-01T00:00:00Z", "metadata": facts}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
