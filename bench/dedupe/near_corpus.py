"""Documents with planted near duplicates: pairs of a known Jaccard similarity among real or generated texts."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.inputs.corpus import texts, write_texts
from bench.inputs.real_corpus import real_texts

LEVELS = (0.6, 0.7, 0.8, 0.9)
EACH = 200
"""Pairs of each level."""
_NGRAM, _NGRAMS = 5, 300
_CUT = 4000  # characters of a document


@dataclass(frozen=True)
class PlantedCorpus:
    """What was written.

    Attributes:
        size: bytes of all texts.
        stock: the texts of each shard; the document of a row has the id `<shard>-<row>`.
        pairs: the places (shard, row) of both documents of each pair.
        similarities: of each pair, exact.
    """

    size: int
    stock: list[list[str]]
    pairs: list[tuple[tuple[int, int], tuple[int, int]]]
    similarities: list[float]


def write_planted(raw: Path, size: int, each: int = EACH) -> PlantedCorpus:
    """Writes two shards of texts below `raw`: the first documents of all pairs, and the others.

    Args:
        raw: a folder that is not there yet.
        size: bytes of the texts besides the planted ones.
        each: pairs of each level.
    """
    chance = random.Random(5)  # noqa: S311 - a corpus, no secret
    planted = [_pair(chance, level) for level in LEVELS for _ in range(each)]
    others = list(_stock(size)) if size else []
    half = len(others) // 2
    stock = [
        [one for one, _, _ in planted] + others[:half],
        [other for _, other, _ in planted] + others[half:],
    ]
    pairs = [((0, row), (1, row)) for row in range(len(planted))]
    return PlantedCorpus(write_texts(raw, stock), stock, pairs, [similarity for _, _, similarity in planted])


def _stock(size: int) -> Iterator[str]:
    """Documents of at most 4,000 characters, of real texts if there are some."""
    sample = os.environ.get("GRISTMILL_SAMPLE_DATA")
    written = 0
    for text in real_texts(Path(sample)) if sample else texts(7, size):
        for at in range(0, len(text), _CUT):
            yield text[at : at + _CUT]
            written += len(text[at : at + _CUT].encode("utf-8", "replace"))
        if written >= size:
            return


def _pair(chance: random.Random, similarity: float) -> tuple[str, str, float]:
    """Two texts with the same beginning, and their similarity. Words are letters alone: every tokenizer keeps them."""
    shared = round(2 * _NGRAMS * similarity / (1 + similarity))
    words = ("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in iter(int, 1))
    same, rest = list(islice(words, shared + _NGRAM - 1)), _NGRAMS - shared
    one, other = same + list(islice(words, rest)), same + list(islice(words, rest))
    return " ".join(one), " ".join(other), shared / (2 * _NGRAMS - shared)
