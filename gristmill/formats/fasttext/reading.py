"""Reads a fastText classifier from its file."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.formats.fasttext.features import END, LABEL, Features
from gristmill.formats.fasttext.huffman import MOST_WORDS, HuffmanTree
from gristmill.formats.fasttext.model import FastTextModel
from gristmill.formats.fasttext.model_file import ModelFile
from gristmill.formats.fasttext.word_rows import WordRows

_MAGIC = 793712314
_VERSION = 12
_SUPERVISED, _HIERARCHICAL, _SOFTMAX = 3, 1, 3  # as the file names kinds of models and losses
_WORD, _LABEL = 0, 1  # kinds of entries of the dictionary
_LONGEST = 16
_MOST_BUCKETS = 2**26


def read_model(path: Path) -> FastTextModel:
    """The model of a file: supervised, with hierarchical softmax or softmax, quantized or not, without word n-grams.

    Args:
        path: a `.bin` or `.ftz` file of fastText 0.9 (format 12).

    Raises:
        DataError: it is no such model, is cut short, or declares what does not fit. Nothing is allocated then.
        OSError: it cannot be read.
    """
    file = ModelFile(path.name, path.read_bytes())
    if file.numbers("ii") != (_MAGIC, _VERSION):
        raise file.wrong(f"it does not begin as a fastText model of format {_VERSION} does")
    size, _, _, _, _, word_ngrams, loss, kind, buckets, shortest, longest, _, _ = file.numbers("12id")
    if kind != _SUPERVISED or loss not in (_HIERARCHICAL, _SOFTMAX) or word_ngrams > 1:
        raise DataError(
            f"{path.name}: only classifiers with hierarchical softmax or softmax, without word n-grams, are read"
            f" (it has model {kind}, loss {loss}, wordNgrams {word_ngrams})"
        )
    if size < 1 or not 0 <= longest <= _LONGEST or not bool(longest) <= buckets <= _MOST_BUCKETS:
        raise file.wrong(f"dim {size}, minn {shortest}, maxn {longest}, bucket {buckets} are declared")
    words, labels, kept = _dictionary(file)
    table, missing, needed = _buckets(file, len(words), buckets if longest else 0, kept)
    quantized = file.numbers("?")[0]
    vectors = file.matrix(quantized=quantized)
    outputs = file.matrix(quantized=file.numbers("?")[0] and quantized)
    if vectors.shape[1] != size or outputs.shape != (len(labels), size) or len(vectors) < needed:
        raise file.wrong(f"matrices of {vectors.shape} and {outputs.shape} numbers do not fit {len(labels)} labels")
    tree = HuffmanTree.of(list(labels.values())) if loss == _HIERARCHICAL else None
    names = tuple(label.removeprefix(LABEL).decode("utf-8", "replace") for label in labels)
    features = Features(words, max(shortest, 1), longest, table, missing)
    return FastTextModel(names, WordRows(features), vectors, outputs, tree, words.get(END))


def _dictionary(file: ModelFile) -> tuple[dict[bytes, int], dict[bytes, int], NDArray[Any] | None]:
    """The row of each word, the count of each label, and the hashes that a pruned model has kept, with their rows."""
    size, words, labels, _, pruned = file.numbers("3iqq")
    if min(words, labels - 1) < 0 or words + labels != size:
        raise file.wrong(f"{size} entries are declared, of which {words} are words and {labels} labels")
    rows: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for number in range(size):
        name = file.word()
        count, kind = file.numbers("qb")
        if kind != (_WORD if number < words else _LABEL) or name in rows or name in counts or count < 0:
            raise file.wrong(f"entry {number} ({name!r:.40}) is of kind {kind}, or occurs twice")
        if kind == _WORD:
            rows[name] = number
        else:
            counts[name] = count
    if sum(counts.values()) >= MOST_WORDS:
        raise file.wrong("labels occur more often than fastText can count")
    return rows, counts, None if pruned < 0 else file.array("<i4", 2 * pruned).reshape(pruned, 2)


def _buckets(file: ModelFile, words: int, count: int, kept: NDArray[Any] | None) -> tuple[NDArray[Any], int, int]:
    """The row of each hash, the number that is no row, and how many rows the input matrix needs.

    The matrix has first the rows of words, then those of hashes: all of them, or those that a pruned model has kept.
    """
    if kept is None:
        return np.arange(words, words + count, dtype=np.int32), -1, words + count
    hashes, places = kept[:, 0], kept[:, 1]
    if len(kept) and (kept.min() < 0 or (count and hashes.max() >= count)):
        raise file.wrong("an n-gram was kept that has no bucket")
    needed = words + (int(places.max()) + 1 if len(kept) else 0)
    dtype = np.uint16 if needed < np.iinfo(np.uint16).max else np.uint32
    missing = int(np.iinfo(dtype).max)
    table = np.full(count, missing, dtype)
    if count:
        table[hashes] = (places + words).astype(dtype)
    return table, missing, needed
