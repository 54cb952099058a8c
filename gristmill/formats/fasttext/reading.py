"""Reads the model of languages, `lid.176.ftz`. Its sha256 is known, so what its numbers say is not checked again."""

import numpy as np
from numpy.typing import NDArray

from gristmill.formats.fasttext.exponential import Floats
from gristmill.formats.fasttext.features import END, LABEL, MISSING, Features
from gristmill.formats.fasttext.file_bytes import FileBytes
from gristmill.formats.fasttext.huffman import HuffmanTree
from gristmill.formats.fasttext.model import LanguageModel
from gristmill.formats.fasttext.word_rows import WordRows

_CENTROIDS = 256  # a code is one byte


def read_model(data: bytes) -> LanguageModel:
    """The model of a file: n-grams of which few are kept, quantized rows with norms, and a tree of its labels.

    Args:
        data: bytes of a file that is known by its sha256.
    """
    file = FileBytes(data)
    buckets, shortest, longest = file.take("14id")[10:13]
    size, words, _, _, kept = file.take("3iqq")
    entries = [(file.word(), *file.take("qb")) for _ in range(size)]
    rows = {name: row for row, (name, *_) in enumerate(entries[:words])}
    hashes, places = file.array("<i4", 2 * kept).reshape(kept, 2).T
    table = np.full(buckets, MISSING, np.uint16)
    table[hashes] = places + words
    _, _, height, width, codes = file.take("BBqqi")  # quantized, and with norms
    vectors = _decoded(file, file.array("u1", codes), height, width)
    vectors *= _decoded(file, file.array("u1", height), height, 1)  # rounded to a float32, as fastText rounds it
    _, height, width = file.take("Bqq")
    outputs = file.array("<f4", height * width).reshape(height, width)
    names = tuple(label.removeprefix(LABEL).decode() for label, *_ in entries[words:])
    tree = HuffmanTree.of([count for _, count, _ in entries[words:]])
    return LanguageModel(names, WordRows(Features(rows, shortest, longest, table)), vectors, outputs, tree, rows[END])


def _decoded(file: FileBytes, codes: NDArray[np.uint8], rows: int, columns: int) -> Floats:
    """The rows of a product quantizer. For each part of the columns, a code names the centroid whose numbers it has."""
    _, parts, width, _ = file.take("4i")
    centroids = file.array("<f4", columns * _CENTROIDS)
    found = np.empty((rows, columns), np.float32)
    for part in range(parts):
        start, end = part * width, min((part + 1) * width, columns)
        table = centroids[start * _CENTROIDS : end * _CENTROIDS].reshape(_CENTROIDS, end - start)
        found[:, start:end] = table[codes[part::parts]]
    return found
