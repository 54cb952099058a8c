"""Text to token ids, exactly as Levanter's text format makes them, by the fastest engine that proves itself.

What is done to a text (marin-levanter 0.2, `levanter.data.text._batch_tokenizer` and `levanter.tokenizers`):

1. A space and the EOS token are appended as a string, whether or not the text ends with one already.
2. With `long_strings="marin"` a text of more than 10,000 characters is cut at the first white space at or after
   each 10,000 characters; each piece begins with that white space and is encoded apart.
3. Runs of at least 25,000 white-space or 25,000 other characters are cut into pieces of 25,000, encoded apart.
4. Special strings inside the text become special tokens; no post-processor runs.
5. The BOS id is put in front.

`eos_style="clean"` differs in 1 and 5: ids are put at the ends, without the space, and not where they stand
already. `specials="text"` differs in 4: special strings inside a text are encoded like any other words, and EOS
is put behind as an id.

Engines: Hugging Face's `tokenizers` is the reference. `fastokens` gives the same ids many times faster for most
byte-level BPEs, and other ids for some tokenizers that it accepts; it is used where it agrees with the reference on
`encoding_probes`, which are tried anew by every encoder. One encoder uses one core: processes are what spreads work.
Start-up, with facts at hand, is fastokens' loading: 0.2 CPU seconds for a vocabulary of 50,000 tokens, 0.4 for 100,000.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.tokenization.engines import (
    ONE_CORE,
    Engine,
    Found,
    Lengths,
    Reference,
    batched,
    fast_engines,
    joined,
)
from gristmill.stages.tokenization.long_texts import LONG, cut
from gristmill.stages.tokenization.reference import TokenizerFacts, facts_of, load_reference
from gristmill.stages.tokenization.safe_splits import WINDOW, windows

Ids = npt.NDArray[np.int32]

BATCH_CHARACTERS = 2**18  # what one call of an engine gets; bounds its output
UNCUT = LONG  # characters that are never cut
MANY = 2**62


class Encoder:
    """Encodes texts with one tokenizer.

    Construction sets FASTOKENS_BPE_THREADS=1 and TOKENIZERS_PARALLELISM=false in this process's environment
    unless they are set: both packages read them when they first encode.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        options: how the tokenizer is used. The chat template is not looked at: texts are rendered already.
        engine: "auto", or "tokenizers" for the reference whatever the check says.
        facts: what the reference says of this tokenizer; None: it is asked.

    Attributes:
        engine: "fastokens" or "tokenizers".
        engine_reason: why this one.
        vocab_size: entries of the vocabulary, added tokens included, as Levanter's metadata has it.
        options: as given.
        special_strings: finds the special tokens that stand in a text as strings.
        refused: the same, if no text may hold such a string; else None.

    Raises:
        RecipeError: no tokenizer.json; one that truncates, pads or drops merges at random; bos or eos
            unknown to it.
    """

    def __init__(
        self,
        tokenizer_json: bytes,
        options: TokenizerOptions,
        *,
        engine: Literal["auto", "tokenizers"] = "auto",
        facts: TokenizerFacts | None = None,
    ) -> None:
        for name, value in ONE_CORE.items():
            os.environ.setdefault(name, value)
        self._json = tokenizer_json
        if facts is None:
            facts = facts_of(tokenizer_json, self.reference)
        self.vocab_size, self._breaks = facts.size, facts.breaks
        self.options = options
        self.special_strings = special_strings(facts.special)
        self.refused = self.special_strings if options.specials == "refuse" else None
        self._bos, self._eos = self._id(facts, "bos", options.bos), self._id(facts, "eos", options.eos)
        self._clean = options.eos_style == "clean"
        self._plain = _specials_as_text(tokenizer_json) if options.specials == "text" else None
        self._suffix = "" if options.eos is None or self._clean else " " if self._plain else f" {options.eos}"
        self._marin = options.long_strings == "marin"
        fast, self.engine_reason = _proven(tokenizer_json.decode(), facts) if engine == "auto" else (None, "asked for")
        self._engine: Engine = fast or Reference(self.reference)
        self.engine = self._engine.name

    @cached_property
    def reference(self) -> Tokenizer:
        """The tokenizer as `tokenizers` loads it."""
        return load_reference(self._json)

    def _id(self, facts: TokenizerFacts, role: str, token: str | None) -> int | None:
        number = None if token is None else facts.added.get(token)
        if token is not None and number is None:
            number = self.reference.token_to_id(token)
        if token is not None and number is None:
            raise RecipeError(f"{role} token {token!r} is not in the tokenizer's vocabulary of {facts.size} tokens")
        return number

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """Encode texts.

        Returns:
            All texts' ids one after another, and each text's number of ids.

        Raises:
            DataError: a text is no string or holds a lone surrogate; an id is outside the vocabulary.
        """
        counts: list[int] = []
        ids, lengths = self._encoded(self._pieces(texts, counts), texts)
        return self._framed(ids, _sums(lengths, counts))

    def encode_bare(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """As `encode`, of texts that are whole already: nothing is put at their ends, and they are never cut."""
        counts: list[int] = []
        ids, lengths = self._encoded(self._windows(texts, counts), texts)
        return ids, _sums(lengths, counts)

    def _pieces(self, texts: Sequence[str], counts: list[int]) -> Iterator[str]:
        """What is encoded apart, EOS included; `counts` gets each text's number of pieces."""
        for text in texts:
            whole = text + self._suffix if len(text) <= WINDOW or self._marin else None
            if whole is not None and len(whole) <= UNCUT:
                counts.append(1)
                yield whole
                continue
            count = 0
            parts = self._parted(text, self._suffix) if whole is None else (whole,)
            for part in parts:
                for piece in cut(part, marin=self._marin):
                    count += 1
                    yield piece
            counts.append(count)

    def _windows(self, texts: Sequence[str], counts: list[int]) -> Iterator[str]:
        """The same of texts that are not cut."""
        for text in texts:
            count = 0
            for window in self._parted(text, ""):
                count += 1
                yield window
            counts.append(count)

    def _parted(self, text: str, suffix: str) -> Iterable[str]:
        if len(text) <= WINDOW:
            return (text + suffix,)
        return windows(text, suffix, self._breaks, self._agrees)

    def _agrees(self, left: str, right: str) -> bool:
        """Whether two strings have the same ids apart and as one."""
        ids, lengths = self._engine.encode([left + right, left, right])
        return np.array_equal(ids[: lengths[0]], ids[lengths[0] :])

    def _encoded(self, pieces: Iterable[str], texts: Sequence[object]) -> tuple[Ids, Lengths]:
        """The ids of all pieces, and each one's number of ids; `texts` are what the pieces are of."""
        parts: list[Found] = []
        lengths: list[Lengths] = []
        try:
            for engine, batch in self._batches(pieces):
                flat, sizes = engine.encode(batch)
                parts.append(flat)
                lengths.append(sizes)
        except (TypeError, ValueError):
            for number, text in enumerate(texts):
                _refuse(number, text)
            raise
        ids = joined(parts, np.uint32)
        self._check(int(ids.max(initial=0)))
        return ids.view(np.int32), joined(lengths, np.int64)

    def _batches(self, pieces: Iterable[str]) -> Iterator[tuple[Engine, list[str]]]:
        """Pieces for an engine at a time; those with special strings in them, if these are spelled out, alone."""
        for batch in batched(pieces, BATCH_CHARACTERS, MANY):
            if self._plain is None or not any(map(self.special_strings.search, batch)):
                yield self._engine, batch
                continue
            for piece in batch:
                yield self._plain if self.special_strings.search(piece) else self._engine, [piece]

    def _check(self, top: int) -> None:
        """The largest id must fit int32 and be one of the vocabulary's, which may have holes."""
        if top >= self.vocab_size and (top > np.iinfo(np.int32).max or self.reference.id_to_token(top) is None):
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


def special_strings(special: Sequence[str]) -> re.Pattern[str]:
    """Finds special tokens that stand in a text as strings; nothing if there are none."""
    return re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))) or r"(?!)")


def _specials_as_text(tokenizer_json: bytes) -> Reference:
    """The reference, with special strings taken for text."""
    tokenizer = load_reference(tokenizer_json)
    tokenizer.encode_special_tokens = True
    return Reference(tokenizer)


def _proven(tokenizer_json: str, facts: TokenizerFacts) -> tuple[Engine | None, str]:
    """The fast engine if it supports the tokenizer and agrees with the reference on every probe; and why."""
    try:
        for fast in fast_engines(tokenizer_json):
            ids, lengths = fast.encode(facts.texts)
            if np.array_equal(ids, facts.ids) and np.array_equal(lengths, facts.lengths):
                return fast, f"the same ids as tokenizers on {len(facts.texts)} probes"
    except (ValueError, RuntimeError) as error:
        return None, f"fastokens: {error}"
    return None, f"fastokens gives other ids than tokenizers on some of {len(facts.texts)} probes"


def _sums(lengths: Lengths, counts: Sequence[int]) -> Lengths:
    """Lengths of texts from those of their pieces, of which each text has so many."""
    if len(lengths) == len(counts):
        return lengths
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return np.diff(ends[np.concatenate(([0], np.cumsum(np.asarray(counts, np.int64))))])


def _refuse(number: int, text: object) -> None:
    """Raises DataError if a text cannot be encoded: asked only when an engine refused some."""
    if not isinstance(text, str):
        raise DataError(f"text {number} of the batch is {type(text).__name__}, not a string; mend its document")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text {number} of the batch has a lone surrogate ({error}); mend its document") from error
