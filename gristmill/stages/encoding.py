"""Text to token ids, exactly as Levanter's text format makes them, by the fastest engine that proves itself.

What is done to a text (marin-levanter 0.2, `levanter.data.text._batch_tokenizer` and `levanter.tokenizers`):

1. A space and the EOS token are appended as a string, whether or not the text ends with one already.
2. With `long_strings="marin"` a text of more than 10,000 characters is cut at the first white space at or after
   each 10,000 characters; each piece begins with that white space and is encoded apart.
3. Runs of at least 25,000 white-space or 25,000 other characters are cut into pieces of 25,000, encoded apart.
4. Special strings inside the text become special tokens; no post-processor runs.
5. The BOS id is put in front.

`eos_style="clean"` differs in 1 and 5: ids are put at the ends, without the space, and not where they stand
already. `specials="text"` differs in 4: special strings inside a text are spelled out like any other words, and EOS
is put behind as an id.

Engines: Hugging Face's `tokenizers` is the reference. `fastokens` gives the same ids many times faster for most
byte-level BPEs, and other ids for some tokenizers that it accepts; it is used where it agrees with the reference on
`encoding_probes`, which are tried anew by every encoder. One encoder uses one core: processes are what spreads work.
Start-up takes 0.5 CPU seconds for a vocabulary of 50,000 tokens, more than half of it fastokens' loading.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from fastokens import Tokenizer as FastTokenizer
from tokenizers import Tokenizer

from gristmill.errors import DataError, RecipeError
from gristmill.stages.encoding_pieces import cut
from gristmill.stages.encoding_probes import probes

Ids = npt.NDArray[np.int32]
Lengths = npt.NDArray[np.int64]

BATCH_CHARACTERS = 2**20  # what one call of an engine gets; bounds its output
REFERENCE_CHARACTERS = 400_000  # the same for `tokenizers`, whose Encoding objects are larger
REFERENCE_TEXTS = 64
ONE_CORE = {"FASTOKENS_BPE_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


class _Model(msgspec.Struct):
    dropout: float | None = None


class _Declared(msgspec.Struct):
    """What of a `tokenizer.json` would make ids depend on more than the text, or cut documents."""

    model: _Model
    truncation: Any = None
    padding: Any = None


class _Engine(Protocol):
    """One implementation of the tokenizer: all texts' ids one after another, and each text's number of ids."""

    name: str

    def encode(self, texts: list[str]) -> tuple[npt.NDArray[np.uint32], Lengths]: ...


class _Fast:
    """The `fastokens` package. Its cache of pre-tokens stops growing at about 100 MB."""

    name = "fastokens"

    def __init__(self, tokenizer_json: str) -> None:
        self._tokenizer = FastTokenizer.from_json_str(tokenizer_json)

    def encode(self, texts: list[str]) -> tuple[npt.NDArray[np.uint32], Lengths]:
        ids, offsets = self._tokenizer.encode_batch_flat(texts)
        bounds = np.frombuffer(offsets, "<u8").astype(np.int64)
        return np.frombuffer(ids, "<u4"), bounds[1:] - bounds[:-1]


class _Reference:
    """The `tokenizers` package, without offsets (`encode_batch_fast`: the same ids for two thirds of the
    CPU).
    """

    name = "tokenizers"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, texts: list[str]) -> tuple[npt.NDArray[np.uint32], Lengths]:
        rows: list[npt.NDArray[np.uint32]] = []
        for batch in _batched(texts, REFERENCE_CHARACTERS, REFERENCE_TEXTS):
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            rows.extend(np.array(encoding.ids, np.uint32) for encoding in encodings)
        return _joined(rows, np.uint32), np.fromiter(map(len, rows), np.int64, len(rows))


class Encoder:
    """Encodes texts with one tokenizer.

    Construction sets FASTOKENS_BPE_THREADS=1 and TOKENIZERS_PARALLELISM=false in this process's environment
    unless they are set: both packages read them when they first encode.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        eos: the EOS token put at the end of every text, or None.
        bos: the BOS token put in front, or None. (Levanter adds BOS whenever the tokenizer's configuration
            names one.)
        eos_style: "levanter", or "clean" as the module describes.
        long_strings: "levanter" encodes long texts whole; "marin" cuts them, as Marin's own tokenizing step
            does.
        specials: whether special strings inside a text become special tokens, or are spelled as text.
        engine: "auto", or "tokenizers" for the reference whatever the check says.

    Attributes:
        engine: "fastokens" or "tokenizers".
        engine_reason: why this one.
        vocab_size: entries of the vocabulary, added tokens included, as Levanter's metadata has it.
        reference: the tokenizer as `tokenizers` loaded it.

    Raises:
        RecipeError: no tokenizer.json; one that truncates, pads or drops merges at random; bos or eos
            unknown to it.
    """

    def __init__(
        self,
        tokenizer_json: bytes,
        *,
        eos: str | None,
        bos: str | None,
        eos_style: Literal["levanter", "clean"] = "levanter",
        long_strings: Literal["levanter", "marin"] = "levanter",
        specials: Literal["tokens", "text"] = "tokens",
        engine: Literal["auto", "tokenizers"] = "auto",
    ) -> None:
        for name, value in ONE_CORE.items():
            os.environ.setdefault(name, value)
        self.reference = reference = _load(tokenizer_json)
        self.vocab_size = reference.get_vocab_size(with_added_tokens=True)
        self._known = reference.id_to_token
        self._bos, self._eos = _id(reference, "bos", bos), _id(reference, "eos", eos)
        self._clean = eos_style == "clean"
        self._plain = _spelled_out(tokenizer_json) if specials == "text" else None
        self._marks = special_strings(reference)
        self._suffix = "" if eos is None or self._clean else " " if self._plain else f" {eos}"
        self._marin = long_strings == "marin"
        self._engine: _Engine = _Reference(reference)
        self.engine_reason = "asked for"
        if engine == "auto":
            self._engine, self.engine_reason = _choose(tokenizer_json.decode(), reference)
        self.engine = self._engine.name

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """Encode texts.

        Returns:
            All texts' ids one after another, and each text's number of ids.

        Raises:
            DataError: a text is no string or holds a lone surrogate; an id is outside the vocabulary.
        """
        pieces: list[str] = []
        counts = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            before = len(pieces)
            pieces.extend(cut(_checked(number, text) + self._suffix, marin=self._marin))
            counts[number] = len(pieces) - before
        ids, lengths = self._encoded(pieces)
        ends = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.diff(ends[np.concatenate(([0], np.cumsum(counts)))])
        return self._framed(ids, rows)

    def encode_bare(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """As `encode`, of texts that are whole already: nothing is put at their ends, and they are never cut."""
        return self._encoded([_checked(number, text) for number, text in enumerate(texts)])

    def _encoded(self, pieces: Sequence[str]) -> tuple[Ids, Lengths]:
        """The ids of all pieces, and each one's number of ids."""
        parts: list[npt.NDArray[np.uint32]] = []
        lengths: list[Lengths] = []
        for engine, batch in self._batches(pieces):
            flat, sizes = engine.encode(batch)
            parts.append(flat)
            lengths.append(sizes)
        ids = _joined(parts, np.uint32)
        self._check(int(ids.max(initial=0)))
        return ids.view(np.int32), _joined(lengths, np.int64)

    def _batches(self, pieces: Sequence[str]) -> Iterator[tuple[_Engine, list[str]]]:
        """Pieces for an engine at a time; those with special strings in them, if these are spelled out, alone."""
        for batch in _batched(pieces, BATCH_CHARACTERS, len(pieces)):
            if self._plain is None or not any(map(self._marks.search, batch)):
                yield self._engine, batch
                continue
            for piece in batch:
                yield self._plain if self._marks.search(piece) else self._engine, [piece]

    def _check(self, top: int) -> None:
        """The largest id must fit int32 and be one of the vocabulary's, which may have holes."""
        if top >= self.vocab_size and (top > np.iinfo(np.int32).max or self._known(top) is None):
            raise DataError(f"id {top} is not one of the {self.vocab_size} tokens; mend tokenizer.json")

    def _framed(self, ids: Ids, lengths: Lengths) -> tuple[Ids, Lengths]:
        """Put BOS and (clean style) EOS ids around each text's ids."""
        front = np.full(len(lengths), self._bos is not None)
        back = np.full(len(lengths), (self._clean or self._plain is not None) and self._eos is not None)
        if self._clean and len(ids):
            ends = np.cumsum(lengths)
            full = lengths > 0
            front[full] &= ids[(ends - lengths)[full]] != (-1 if self._bos is None else self._bos)
            back[full] &= ids[(ends - 1)[full]] != (-1 if self._eos is None else self._eos)
        if not front.any() and not back.any():
            return ids, lengths
        framed_lengths = lengths + front + back
        ends = np.cumsum(framed_lengths)
        framed = np.empty(int(framed_lengths.sum()), np.int32)
        kept = np.ones(len(framed), np.bool_)
        for places, token in (((ends - framed_lengths)[front], self._bos), ((ends - 1)[back], self._eos)):
            if token is not None:
                kept[places] = False
                framed[places] = token
        framed[kept] = ids
        return framed, framed_lengths


def _load(tokenizer_json: bytes) -> Tokenizer:
    try:
        declared = msgspec.json.decode(tokenizer_json, type=_Declared)
        reference = Tokenizer.from_buffer(tokenizer_json)
    except Exception as error:  # `tokenizers` raises nothing narrower
        raise RecipeError(f"tokenizer.json cannot be loaded: {error}") from error
    for name in ("truncation", "padding"):
        if getattr(declared, name) is not None:
            raise RecipeError(f"tokenizer.json declares {name}, which would change documents; set it to null")
    if declared.model.dropout:
        raise RecipeError("tokenizer.json declares dropout: the same text would get other ids; set it to null")
    return reference


def special_strings(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Finds the special tokens that stand in a text as strings; nothing if there are none."""
    found = [each.content for each in tokenizer.get_added_tokens_decoder().values() if each.special and each.content]
    return re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))) or r"(?!)")


def _spelled_out(tokenizer_json: bytes) -> _Reference:
    """The reference, with special strings taken for text."""
    tokenizer = _load(tokenizer_json)
    tokenizer.encode_special_tokens = True
    return _Reference(tokenizer)


def _id(reference: Tokenizer, role: str, token: str | None) -> int | None:
    number = None if token is None else reference.token_to_id(token)
    if token is not None and number is None:
        size = reference.get_vocab_size()
        raise RecipeError(f"{role} token {token!r} is not in the tokenizer's vocabulary of {size} tokens")
    return number


def _choose(tokenizer_json: str, reference: Tokenizer) -> tuple[_Engine, str]:
    """The fast engine if it supports the tokenizer and agrees on every probe, else the reference; and why."""
    slow = _Reference(reference)
    texts = probes(reference)
    try:
        fast = _Fast(tokenizer_json)
        ids, lengths = fast.encode(texts)
    except (ValueError, RuntimeError) as error:
        return slow, f"fastokens: {error}"
    expected, expected_lengths = slow.encode(texts)
    if np.array_equal(ids, expected) and np.array_equal(lengths, expected_lengths):
        return fast, f"the same ids as tokenizers on {len(texts)} probes"
    return slow, f"fastokens gives other ids than tokenizers on some of {len(texts)} probes"


def _checked(number: int, text: object) -> str:
    if not isinstance(text, str):
        raise DataError(f"text {number} of the batch is {type(text).__name__}, not a string; mend its document")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text {number} of the batch has a lone surrogate ({error}); mend its document") from error
    return text


def _batched(texts: Sequence[str], characters: int, most: int) -> Iterator[list[str]]:
    """Batches of at most so many characters (or one text) and texts."""
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


def _joined(parts: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
