"""The engines that turn texts into ids: `tokenizers`, the reference, and `fastokens`, which is checked against it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from fastokens import Tokenizer as FastTokenizer
from tokenizers import Tokenizer

from gristmill.encoding.space_runs import MARK, marked, tokenizer_without_run_tokens
from gristmill.errors import DataError, is_panic

EngineIds = npt.NDArray[np.uint32]
Lengths = npt.NDArray[np.int64]

ONE_CORE = {"FASTOKENS_BPE_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Environment variables that both packages read when they first encode."""
REFERENCE_CHARACTERS = 400_000  # per call of the reference, because its Encoding objects are large
REFERENCE_TEXTS = 64  # likewise


class TokenizerPanicked(DataError):  # noqa: N818 - named like RuleStopped
    """The native code of a tokenizer gave up on a text. Example: its pattern backtracks too often."""


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raises the panic of a native library as TokenizerPanicked; see is_panic()."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise TokenizerPanicked(f"the tokenizer's own code panicked: {error}") from error


class TokenEngine(Protocol):
    """One implementation of a tokenizer. It uses one core.

    `encode` returns the ids of all texts, one text after another (uint32), and each text's number of ids (int64).
    """

    name: str

    def encode(self, texts: list[str]) -> tuple[EngineIds, Lengths]: ...


class FastEngine:
    """The `fastokens` package. Its cache of words stops growing at about 100 MB."""

    name = "fastokens"

    def __init__(self, tokenizer_json: str) -> None:
        self._tokenizer = FastTokenizer.from_json_str(tokenizer_json)

    def encode(self, texts: list[str]) -> tuple[EngineIds, Lengths]:
        with panics_as_errors():
            ids, offsets = self._tokenizer.encode_batch_flat(texts)
        bounds = np.frombuffer(offsets, "<u8").astype(np.int64)
        return np.frombuffer(ids, "<u4"), bounds[1:] - bounds[:-1]


class FastEngineWithRuns(FastEngine):
    """The `fastokens` package, for tokenizers with a token per run of spaces: see space_runs.

    Args:
        tokenizer_json: the tokenizer without these tokens.
        of_length: the id of a run of each length, by length in spaces.
    """

    def __init__(self, tokenizer_json: str, of_length: EngineIds) -> None:
        super().__init__(tokenizer_json)
        self._of_length = of_length
        (self._mark,) = super().encode([MARK])[0].tolist()
        self._of_length[0] = self._mark

    def encode(self, texts: list[str]) -> tuple[EngineIds, Lengths]:
        short, runs = marked(texts, len(self._of_length) - 1)
        ids, lengths = super().encode(short)
        if not len(runs):
            return ids, lengths
        ids = ids.copy()
        places = np.flatnonzero(ids == self._mark)
        if len(places) != len(runs):
            raise DataError(f"fastokens gave {len(places)} ids for {len(runs)} runs of spaces; use engine='tokenizers'")
        ids[places] = self._of_length[runs]
        return ids, lengths


class ReferenceEngine:
    """The `tokenizers` package. `encode_batch_fast` gives the same ids, without offsets, in two thirds of the time."""

    name = "tokenizers"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, texts: list[str]) -> tuple[EngineIds, Lengths]:
        rows: list[EngineIds] = []
        for batch in batch_texts(texts, REFERENCE_CHARACTERS, REFERENCE_TEXTS):
            with panics_as_errors():
                encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            rows.extend(np.array(encoding.ids, np.uint32) for encoding in encodings)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return joined(rows, np.uint32), lengths


def fast_engines(tokenizer_json: str) -> Iterator[FastEngine]:
    """The fast engine, in the forms that may work for this tokenizer, the fastest first.

    Args:
        tokenizer_json: the text of `tokenizer.json`.

    Raises:
        ValueError, RuntimeError: fastokens does not support such a tokenizer.
    """
    lean = tokenizer_without_run_tokens(tokenizer_json)
    if lean is not None:
        yield FastEngineWithRuns(*lean)
    yield FastEngine(tokenizer_json)


def batch_texts(texts: Iterable[str], characters: int, most: int) -> Iterator[list[str]]:
    """The texts in batches, in order.

    Args:
        texts: the texts.
        characters: most characters per batch. A longer text is a batch of its own.
        most: most texts per batch.

    >>> list(batch_texts(["ab", "cd", "e"], 4, 9))
    [['ab', 'cd'], ['e']]
    """
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > characters or len(batch) >= most):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def joined(parts: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The array of all parts, one after another: shape (sum of n,), of the given dtype.

    Args:
        parts: arrays of shape (n,) in order. To save memory they are freed one by one: the list is empty afterwards.
        dtype: the type of the array's elements.

    >>> joined([np.array([1, 2]), np.array([3])], np.int64).tolist()
    [1, 2, 3]
    """
    whole = np.empty(sum(map(len, parts)), dtype)
    end = len(whole)
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole
