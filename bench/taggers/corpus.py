"""The documents that taggers are measured with: real texts in many scripts, cut to the sizes of web pages.

The sample data has about 50 MB of text (bench/inputs/real_corpus.py). A larger corpus takes the texts again, cut at
other places and with some of their words exchanged. The same seed gives the same documents.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

from bench.harness.cost import BenchError
from bench.inputs.corpus import write_texts
from bench.inputs.real_corpus import real_texts

MEGABYTES = "GRISTMILL_BENCH_TAGGERS_MB"
SAMPLE = "GRISTMILL_SAMPLE_DATA"
MEDIAN, SPREAD = 2_000, 1.1
"""Of a document's size in code points, which is log-normal: a tenth of them have more than 8,000, some 50,000."""
SMALLEST = 40
RUN = 200_000
EXCHANGED = 0.02
"""Share of the words of a repeated text that are exchanged with another word of the same document."""
_SEED = 20_211_208


def megabytes() -> int:
    """The size of the corpus in millions of bytes of text: GRISTMILL_BENCH_TAGGERS_MB, or else 200."""
    return int(os.environ.get(MEGABYTES, "200"))


def write_corpus(raw: Path, size: int, shards: int) -> int:
    """Writes the corpus as `shard-<nnnn>.jsonl` files.

    Args:
        raw: the folder, which is made.
        size: of all texts together, in bytes of UTF-8.
        shards: number of files.

    Returns:
        The bytes of all texts.

    Raises:
        BenchError: GRISTMILL_SAMPLE_DATA does not name the sample data.
    """
    sample = os.environ.get(SAMPLE)
    if not sample:
        raise BenchError(f"{SAMPLE} is not set: the texts of this bench are in the sample data")
    endless = documents(list(_runs(real_texts(Path(sample)))), _SEED)
    return write_texts(raw, (up_to(endless, size // shards) for _ in range(shards)))


def documents(stock: list[str], seed: int) -> Iterator[str]:
    """Documents without end: the texts in an order of the seed, once each, and then again with exchanged words."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    again = False
    while True:
        for text in chance.sample(stock, len(stock)):
            for document in _cut(text, chance):
                yield _exchanged(document, chance) if again else document
        again = True


def _runs(texts: Iterator[str]) -> Iterator[str]:
    """Neighbouring texts joined, of one kind and often of one language: many are shorter than a web page."""
    held: list[str] = []
    for text in texts:
        held.append(text)
        if sum(map(len, held)) >= RUN:
            yield "\n\n".join(held)
            held = []
    yield "\n\n".join(held)


def up_to(texts: Iterator[str], size: int) -> Iterator[str]:
    """The next texts that have at least `size` bytes of UTF-8 together."""
    taken = 0
    while taken < size:
        text = next(texts)
        taken += len(text.encode())
        yield text


def _cut(text: str, chance: random.Random) -> Iterator[str]:
    """The text in documents. Each ends at a line end, and has at least the size that was drawn for it."""
    start = 0
    while start < len(text):
        size = max(SMALLEST, round(chance.lognormvariate(0, SPREAD) * MEDIAN))
        end = text.find("\n", start + size) + 1 or len(text)
        document = text[start:end]
        start = end
        if document.strip():
            yield document


def _exchanged(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    for _ in range(round(len(words) * EXCHANGED)):
        one, other = chance.randrange(len(words)), chance.randrange(len(words))
        words[one], words[other] = words[other], words[one]
    return " ".join(words)
