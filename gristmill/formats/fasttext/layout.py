"""The layout of a fastText model file: all sizes in it are compared with its length before the library loads it.

Source: https://github.com/facebookresearch/fastText, `FastText::loadModel`, `Dictionary::load`, `DenseMatrix::load`,
`QuantMatrix::load`, `ProductQuantizer::load`. The library believes each number of the file: a forged one makes it
allocate any memory, or read and write outside of its vectors.
"""

from typing import NamedTuple

from gristmill.errors import RecipeError
from gristmill.formats.fasttext.file_bytes import FileBytes, Flawed

_MAGIC, _VERSION = 793_712_314, 12
_SUPERVISED = 3
_LOSSES = range(1, 5)  # hierarchical softmax, negative sampling, softmax, one against all
_CENTROIDS = 256
_SEQUENCE = 4096  # code points of the longest sequence of a word
_DIM = 4096
_COUNT = 10**15  # hierarchical softmax takes this number for "no node"


class FastTextFacts(NamedTuple):
    """What a model file says of itself.

    Attributes:
        labels: the labels, without `__label__`, in the file's order.
        words: number of words.
        dim: numbers in a vector.
        quantized: whether the vectors are compressed.
    """

    labels: tuple[str, ...]
    words: int
    dim: int
    quantized: bool


def check_fasttext(data: bytes, what: str) -> FastTextFacts:
    """Checks that the file of a fastText classifier can be loaded safely. The library itself is not called.

    Args:
        data: the bytes of the file.
        what: its name, for the message.

    Returns:
        What the file says of itself.

    Raises:
        RecipeError: it is no fastText classifier, is cut off, or has numbers that do not fit together.
    """
    cursor = FileBytes(data)
    try:
        return _model(cursor)
    except Flawed as error:
        raise RecipeError(f"{what} is no valid fastText classifier: {error}; get it again from its origin") from error


def _model(cursor: FileBytes) -> FastTextFacts:
    if len(cursor.data) < 8 or cursor.take("ii") != (_MAGIC, _VERSION):
        raise Flawed("it does not begin as one of version 12")
    dim, _, _, _, _, word_ngrams, loss, model, bucket, shortest, longest, _ = cursor.take("12i")
    cursor.skip(8)
    if model != _SUPERVISED or loss not in _LOSSES:
        raise Flawed("it is no classifier")
    if not 0 < dim <= _DIM or not 0 <= shortest <= longest <= _SEQUENCE or not 0 <= word_ngrams <= _DIM:
        raise Flawed("its vectors or its sequences have impossible lengths")
    if bucket < 0 or (bucket == 0 and (longest > 0 or word_ngrams > 1)):
        raise Flawed("it has sequences, but no vectors for them")
    words, labels, rows = _dictionary(cursor, bucket)
    quantized = cursor.take("B")[0]
    _matrix(cursor, quantized, rows, dim)
    _matrix(cursor, cursor.take("B")[0] and quantized, len(labels), dim, exact=True)
    if cursor.at != len(cursor.data):
        raise Flawed(f"{len(cursor.data) - cursor.at:,} bytes are behind its end")
    return FastTextFacts(labels, words, dim, bool(quantized))


def _dictionary(cursor: FileBytes, bucket: int) -> tuple[int, tuple[str, ...], int]:
    """The number of words, the labels, and how many vectors the words and their sequences need."""
    size, words, labels, _, pruned = cursor.take("iiiqq")
    if words < 0 or labels < 1 or size != words + labels or pruned < -1:
        raise Flawed("the sizes of its dictionary contradict each other")
    cursor.need(size * 10)  # a name's end, a count and a kind each
    names: list[str] = []
    for number in range(size):
        name = cursor.word()
        count, kind = cursor.take("qB")
        if not 0 <= count < _COUNT or kind != (number >= words):
            raise Flawed(f"word {number} has an impossible count or kind")
        if kind:
            names.append(_label(name, number))
    if len(set(names)) != len(names):
        raise Flawed("a label occurs twice")
    if pruned < 0:
        return words, tuple(names), words + bucket
    pairs = cursor.array("<i4", pruned * 2).reshape(-1, 2)
    if pruned and (pairs.min() < 0 or pairs[:, 0].max() >= max(bucket, 1)):
        raise Flawed("its remaining sequences have impossible numbers")
    return words, tuple(names), words + (int(pairs[:, 1].max()) + 1 if pruned else 0)


def _label(name: bytes, number: int) -> str:
    try:
        return name.decode().removeprefix("__label__")
    except UnicodeDecodeError as error:
        raise Flawed(f"label {number} is not UTF-8") from error


def _matrix(cursor: FileBytes, quantized: int, rows: int, dim: int, *, exact: bool = False) -> None:
    """Passes a matrix: of `rows` vectors, or of more if a few are never asked for."""
    if not quantized:
        found, width = cursor.take("qq")
        _same_size(found, width, rows, dim, exact=exact)
        cursor.skip(found * width * 4)
        return
    norms, found, width, codes = cursor.take("Bqqi")
    _same_size(found, width, rows, dim, exact=exact)
    cursor.skip(codes)
    parts = _quantizer(cursor, dim)
    if codes != found * parts or norms not in (0, 1):
        raise Flawed("its compressed vectors have another length than their number")
    if norms:
        cursor.skip(found)
        _quantizer(cursor, 1)


def _same_size(found: int, width: int, rows: int, dim: int, *, exact: bool) -> None:
    if width != dim or found < rows or (exact and found != rows) or found > 1 << 40:
        raise Flawed(f"it has {found:,} vectors of {width:,} numbers, where {rows:,} of {dim:,} belong")


def _quantizer(cursor: FileBytes, dim: int) -> int:
    """Passes the centroids of compressed vectors. Returns the number of codes of a vector."""
    whole, parts, length, last = cursor.take("iiii")
    if whole != dim or length < 1 or parts < 1 or not 0 < last <= length or (parts - 1) * length + last != dim:
        raise Flawed("the parts of its compressed vectors do not fit together")
    cursor.skip(dim * _CENTROIDS * 4)
    return int(parts)
