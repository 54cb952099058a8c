"""Documents to measure with, made of the standard library's texts: the same ones for one version of Python."""

import random
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import orjson

from bench.harness.place import SOURCE

_BOILERPLATE = "* Home\n- About us\nRead more…"
_ADDED = "2024-01-01T00:00:00Z"


def write_raw(raw: Path, shards: int, size: int, seed: int = 20_211_208) -> int:
    """Writes `shard-<nnnn>.jsonl` files of about `size` bytes of text each.

    Returns:
        The bytes of all texts, in UTF-8.
    """
    return write_texts(raw, (texts(seed + number, size) for number in range(shards)))


def write_texts(raw: Path, shards: Iterable[Iterable[str]]) -> int:
    """Writes `shard-<nnnn>.jsonl` files of given texts; see `write_raw`."""
    raw.mkdir(parents=True)
    total = 0
    for number, stock in enumerate(shards):
        with (raw / f"shard-{number:04}.jsonl").open("wb") as sink:
            for row, text in enumerate(stock):
                sink.write(line(f"{number}-{row}", text))
                total += len(text.encode())
    return total


def write_markdown(raw: Path, files: int, seed: int = 20_211_208) -> int:
    """Writes `<folder>/<n>.md` files of about 4 KB, in a hundred folders; see `write_raw`."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    stock, total = paragraphs(), 0
    for number in range(files):
        folder = raw / f"{number % 100:02}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join(chance.choices(stock, k=10))[:4000]
        data = f"# Page {number}\n\n{text}\n".encode()
        (folder / f"{number}.md").write_bytes(data)
        total += len(data)
    return total


def texts(seed: int, size: int) -> Iterator[str]:
    """Texts of at least `size` bytes together."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    written = 0
    while written < size:
        text = _text(chance, paragraphs())
        written += len(text.encode())
        yield text


def line(id_: str, text: str) -> bytes:
    """A document as a row of Dolma's format."""
    row = {"id": id_, "text": text, "source": SOURCE, "added": _ADDED}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


@cache
def paragraphs() -> list[str]:
    """What stands between empty lines in the sources of the standard library: prose, code and tables."""
    folder = Path(sysconfig.get_path("stdlib"))
    found: list[str] = []
    for path in sorted((*folder.glob("*.py"), *folder.glob("[a-z]*/*.py"))):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        found += path.read_text(encoding="utf-8", errors="replace").split("\n\n")
    return found


def _text(chance: random.Random, stock: list[str]) -> str:
    """A text of about 2 KB, log-normal: a run of paragraphs, words put together anew, or a page with boilerplate."""
    count = max(1, round(chance.lognormvariate(2.0, 0.9)))
    start = chance.randrange(len(stock) - count)
    chosen = stock[start : start + count]
    kind = chance.random()
    if kind < 0.3:
        words = " ".join(chosen).split()
        chance.shuffle(words)
        return " ".join(word + "\n" * (chance.random() < 0.06) for word in words)
    if kind < 0.5:
        chosen = [chance.choice(chosen) for _ in range(count)] + [_BOILERPLATE] * chance.randrange(4)
    text = "\n\n".join(chosen)
    return text.replace("'", "\u2019") if chance.random() < 0.5 else text
