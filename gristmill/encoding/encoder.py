"""Text to token ids, exactly as Levanter's text format makes them, with the fastest engine that passes a check.

The steps for one text (marin-levanter 0.2, `levanter.data.text._batch_tokenizer` and `levanter.tokenizers`):

1. A space and the EOS token are appended as a string, also if the text already ends with EOS.
2. With `long_strings="marin"` a text of more than 10,000 characters is cut at the first white space at or after each
   10,000 characters. Each piece begins with that white space. The pieces are encoded separately.
3. Runs of at least 25,000 white-space or 25,000 other characters are cut into pieces of 25,000, which are encoded
   separately.
4. Special strings inside the text become special tokens. No post-processor runs.
5. The BOS id is put at the beginning.

`eos_style="clean"` changes steps 1 and 5: BOS and EOS are put as ids at the ends, without the space, and only where
they are not there yet. `specials="text"` changes step 4: special strings inside a text are encoded like other words,
and EOS is appended as an id.

Engines: `tokenizers` of Hugging Face is the reference. `fastokens` gives the same ids many times faster for most
byte-level BPEs, but other ids for some tokenizers that it accepts. So every encoder first compares the two on texts
(gristmill/encoding/probes.py), and uses `fastokens` only if all ids are equal. An encoder uses one core;
the work is spread over processes. If the reference's answers are at hand, a start takes only as long as fastokens
loads: 0.2 CPU seconds for a vocabulary of 50,000 tokens, 0.4 for 100,000.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from gristmill.encoding.engines import (
    ONE_CORE,
    EngineIds,
    Lengths,
    ReferenceEngine,
    TokenEngine,
    TokenizerPanicked,
    batch_texts,
    fast_engines,
    joined,
)
from gristmill.encoding.long_texts import LONG, cut
from gristmill.encoding.reference import TokenizerReference, ask_reference, load_reference
from gristmill.encoding.safe_splits import WINDOW, safe_windows
from gristmill.errors import DataError, RecipeError
from gristmill.recipes.tokenizer import TokenizerOptions

Ids = npt.NDArray[np.int32]

BATCH_CHARACTERS = 2**18  # per call of an engine, to limit the size of its output
UNCUT = LONG  # texts of at most so many characters are never cut
MANY = 2**62  # no limit to the number of texts in a batch


class Encoder:
    """Encodes texts with one tokenizer.

    The constructor sets FASTOKENS_BPE_THREADS=1 and TOKENIZERS_PARALLELISM=false in the environment of this process,
    unless they are set. Both packages read them when they first encode.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        options: options that tell how the tokenizer is used. The chat template is ignored, because texts are rendered
            already.
        engine: "auto", or "tokenizers" to always use the reference.
        facts: the reference's answers for this tokenizer; None: the reference is asked now.

    Attributes:
        engine: "fastokens" or "tokenizers".
        engine_reason: reason for the choice of the engine.
        vocab_size: entries of the vocabulary, with added tokens, as in Levanter's metadata.
        options: options as given.
        special_strings: a pattern for special tokens that are in a text as strings.
        refused: the same pattern, if no text may hold such a string; else None.

    Raises:
        RecipeError: the bytes are not a tokenizer.json; it truncates, pads or drops merges at random; or bos or eos is
            not in its vocabulary.

    >>> from tokenizers import models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.WordLevel({"mill": 0, "river": 1, "</s>": 2, "?": 3}, unk_token="?"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> encoder = Encoder(tokenizer.to_str().encode(), TokenizerOptions(eos="</s>"))
    >>> ids, lengths = encoder.encode(["mill river", "river"])
    >>> ids.tolist(), lengths.tolist()
    ([0, 1, 2, 1, 2], [3, 2])
    """

    def __init__(
        self,
        tokenizer_json: bytes,
        options: TokenizerOptions,
        *,
        engine: Literal["auto", "tokenizers"] = "auto",
        facts: TokenizerReference | None = None,
    ) -> None:
        for name, value in ONE_CORE.items():
            os.environ.setdefault(name, value)
        self._json = tokenizer_json
        if facts is None:
            facts = ask_reference(tokenizer_json)
        self.vocab_size, self._breaks = facts.size, facts.breaks
        self.options = options
        self.special_strings = special_strings(facts.special)
        self.refused = self.special_strings if options.specials == "refuse" else None
        self._special_ids = np.array([facts.added[token] for token in facts.special if token in facts.added], np.int32)
        self._bos, self._eos = (
            self._special_token_id(facts, "bos", options.bos),
            self._special_token_id(facts, "eos", options.eos),
        )
        self._clean = options.eos_style == "clean"
        self._plain = _specials_as_text(tokenizer_json) if options.specials == "text" else None
        self._suffix = "" if options.eos is None or self._clean else " " if self._plain else f" {options.eos}"
        self._marin = options.long_strings == "marin"
        fast, self.engine_reason = (
            _prove_fast_engine(tokenizer_json.decode(), facts) if engine == "auto" else (None, "asked for")
        )
        self._engine: TokenEngine = fast or ReferenceEngine(self.reference_tokenizer)
        self.engine = self._engine.name

    @cached_property
    def reference_tokenizer(self) -> Tokenizer:
        """The tokenizer as `tokenizers` loads it."""
        return load_reference(self._json)

    def _special_token_id(self, facts: TokenizerReference, role: str, token: str | None) -> int | None:
        """The id of BOS or EOS, or None if there is none."""
        number = None if token is None else facts.added.get(token)
        if token is not None and number is None:
            number = self.reference_tokenizer.token_to_id(token)
        if token is not None and number is None:
            raise RecipeError(f"{role} token {token!r} is not in the tokenizer's vocabulary of {facts.size} tokens")
        return number

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """Encodes texts.

        Args:
            texts: the texts, without BOS and EOS.

        Returns:
            ids: the ids of all texts, one text after another, int32.
            lengths: for each text its number of ids, int64.

        Raises:
            DataError: a text is not a string or holds a lone surrogate, or an id is outside the vocabulary.
        """
        counts: list[int] = []
        ids, lengths = self._encode_pieces(self._pieces_to_encode(texts, counts), texts)
        return self._add_bos_and_eos(ids, _sum_piece_lengths(lengths, counts))

    def encode_bare(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """Encodes texts that are complete already: without BOS and EOS, and never cut.

        An example are the texts that a chat template renders.

        Args:
            texts: the texts.

        Returns:
            ids and lengths, each of shape (n,), as from `encode`.

        Raises:
            DataError: see `encode`.
        """
        counts: list[int] = []
        ids, lengths = self._encode_pieces(self._split_uncut_texts(texts, counts), texts)
        return ids, _sum_piece_lengths(lengths, counts)

    def specials_in(self, ids: Ids, lengths: Lengths) -> Lengths:
        """The number of special tokens in each text's ids.

        It may exceed the number of special strings in the text: a normalizer may have made one of other characters.

        Args:
            ids: token ids of all texts (n), as from `encode`.
            lengths: number of ids of each text (T), as from `encode`.
        """
        sums = np.concatenate(([0], np.cumsum(np.isin(ids, self._special_ids))))
        ends = np.cumsum(lengths)
        counts: Lengths = sums[ends] - sums[ends - lengths]
        return counts

    def _pieces_to_encode(self, texts: Sequence[str], counts: list[int]) -> Iterator[str]:
        """The strings that are encoded separately, with EOS. Each text's number of pieces is appended to `counts`."""
        for text in texts:
            whole = text + self._suffix if len(text) <= WINDOW or self._marin else None
            if whole is not None and len(whole) <= UNCUT:
                counts.append(1)
                yield whole
                continue
            count = 0
            parts = self._split_huge_text(text, self._suffix) if whole is None else (whole,)
            for part in parts:
                for piece in cut(part, marin=self._marin):
                    count += 1
                    yield piece
            counts.append(count)

    def _split_uncut_texts(self, texts: Sequence[str], counts: list[int]) -> Iterator[str]:
        """The same for texts that must not be cut. Only huge texts are split, at places that do not change ids."""
        for text in texts:
            count = 0
            for window in self._split_huge_text(text, ""):
                count += 1
                yield window
            counts.append(count)

    def _split_huge_text(self, text: str, suffix: str) -> Iterable[str]:
        """The text with the suffix, split at safe places if it is huge."""
        if len(text) <= WINDOW:
            return (text + suffix,)
        return safe_windows(text, suffix, self._breaks, self._splits_safely)

    def _splits_safely(self, left: str, right: str) -> bool:
        """Whether two strings have the same ids separately and joined."""
        ids, lengths = self._engine.encode([left + right, left, right])
        return np.array_equal(ids[: lengths[0]], ids[lengths[0] :])

    def _encode_pieces(self, pieces: Iterable[str], texts: Sequence[object]) -> tuple[Ids, Lengths]:
        """The ids of all pieces, and each piece's number of ids. The pieces are made of `texts`."""
        parts: list[EngineIds] = []
        lengths: list[Lengths] = []
        try:
            for engine, batch in self._batches_by_engine(pieces):
                flat, sizes = engine.encode(batch)
                parts.append(flat)
                lengths.append(sizes)
        except (TypeError, ValueError):
            for number, text in enumerate(texts):
                _raise_if_unencodable(number, text)
            raise
        except TokenizerPanicked as error:
            raise DataError(
                f"{self._first_panicking_text(texts)}: {error}; mend its document, or tokenizer.json"
            ) from error
        ids = joined(parts, np.uint32)
        self._check_largest_id(int(ids.max(initial=0)))
        return ids.view(np.int32), joined(lengths, np.int64)

    def _first_panicking_text(self, texts: Sequence[object]) -> str:
        """Names the first text on which the tokenizer panics."""
        for number, text in enumerate(texts):
            try:
                self._engine.encode([str(text)])
            except TokenizerPanicked:
                return f"text {number} of the batch"
        return f"the {len(texts)} texts of the batch"

    def _batches_by_engine(self, pieces: Iterable[str]) -> Iterator[tuple[TokenEngine, list[str]]]:
        """Batches of pieces, each with its engine.

        If special strings are to be encoded like other words, pieces that hold one are encoded alone, by the reference.
        """
        for batch in batch_texts(pieces, BATCH_CHARACTERS, MANY):
            if self._plain is None or not any(map(self.special_strings.search, batch)):
                yield self._engine, batch
                continue
            for piece in batch:
                yield self._plain if self.special_strings.search(piece) else self._engine, [piece]

    def _check_largest_id(self, top: int) -> None:
        """Checks the largest id: it must fit int32 and be in the vocabulary, which may have holes."""
        if top >= self.vocab_size and (
            top > np.iinfo(np.int32).max or self.reference_tokenizer.id_to_token(top) is None
        ):
            raise DataError(f"id {top} is not one of the tokenizer's {self.vocab_size} tokens; mend tokenizer.json")

    def _add_bos_and_eos(self, ids: Ids, lengths: Lengths) -> tuple[Ids, Lengths]:
        """Puts BOS and EOS ids around each text's ids, unless EOS was appended as a string."""
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
    """A pattern that finds special tokens which are in a text as strings. Without special tokens it finds nothing.

    Args:
        special: the special tokens. Of several at one place, the pattern finds the longest.

    >>> special_strings(["<s>", "<s>x"]).findall("a <s> b <s>x")
    ['<s>', '<s>x']
    """
    return re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))) or r"(?!)")


def _specials_as_text(tokenizer_json: bytes) -> ReferenceEngine:
    """The reference, set to encode special strings like other words."""
    tokenizer = load_reference(tokenizer_json)
    tokenizer.encode_special_tokens = True
    return ReferenceEngine(tokenizer)


def _prove_fast_engine(tokenizer_json: str, facts: TokenizerReference) -> tuple[TokenEngine | None, str]:
    """The fast engine and why; None in its place if it cannot load the tokenizer or gives other ids on some probe."""
    try:
        for fast in fast_engines(tokenizer_json):
            ids, lengths = fast.encode(facts.texts)
            if np.array_equal(ids, facts.ids) and np.array_equal(lengths, facts.lengths):
                return fast, f"the same ids as tokenizers on {len(facts.texts)} probes"
    except (ValueError, RuntimeError, TokenizerPanicked) as error:
        return None, f"fastokens: {error}"
    return None, f"fastokens gives other ids than tokenizers on some of {len(facts.texts)} probes"


def _sum_piece_lengths(lengths: Lengths, counts: Sequence[int]) -> Lengths:
    """The lengths of texts, from the lengths of their pieces.

    Args:
        lengths: number of ids of each piece.
        counts: number of pieces of each text.
    """
    if len(lengths) == len(counts):
        return lengths
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return np.diff(ends[np.concatenate(([0], np.cumsum(np.asarray(counts, np.int64))))])


def _raise_if_unencodable(number: int, text: object) -> None:
    """Raises DataError if a text cannot be encoded. It is called only after an engine has failed."""
    if not isinstance(text, str):
        raise DataError(f"text {number} of the batch is {type(text).__name__}, not a string; mend its document")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text {number} of the batch has a lone surrogate ({error}); mend its document") from error
