"""Finds the token of a character from the ids alone, because the fast engines give no offsets.

In a byte-level vocabulary every token stands for a number of bytes. Their sum over a text's ids must be the number of
bytes of the text. It is not if a normalizer changed the text, or an added token took white space with it. Then, or if
the check at the start fails, the reference tokenizer is asked.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from gristmill.encoding.engines import panics_as_errors
from gristmill.encoding.probes import FIXED
from gristmill.encoding.safe_splits import BREAKS, safe_windows
from gristmill.encoding.tokenizer_json import parse_tokenizer_json
from gristmill.encoding.vocabulary import Vocabulary
from gristmill.text.utf8 import STRETCH, utf8_size

Ids = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
Spans = Sequence[tuple[int, int]]
LEADING = (" the", "  the", " \u00e9t\u00e9 ", " 1", "\u00e9", "\n the")
"""More texts for the check. Their first characters matter for offsets."""
_COMPOSING = {"NFC", "NFD", "NFKC", "NFKD"}
"""Normalizers that leave ASCII as it is."""


class TokenOffsets:
    """Finds the tokens of spans of text.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        reference: the same tokenizer, loaded.
        vocabulary: its tables.

    Attributes:
        fast: whether the ids alone are enough for this tokenizer.

    >>> from tokenizers import models, pre_tokenizers
    >>> from gristmill.encoding.vocabulary import read_vocabulary
    >>> tokenizer = Tokenizer(models.WordLevel({"mill": 0, "river": 1, "?": 2}, unk_token="?"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> data = tokenizer.to_str().encode()
    >>> offsets = TokenOffsets(data, tokenizer, read_vocabulary(data, tokenizer))
    >>> offsets.mask_tokens_in_spans("mill river", np.array([0, 1], np.int32), [(5, 10)]).tolist()
    [False, True]
    """

    def __init__(self, tokenizer_json: bytes, reference: Tokenizer, vocabulary: Vocabulary) -> None:
        self._reference = reference
        self._normalizer = reference.normalizer
        declared = parse_tokenizer_json(tokenizer_json)
        self._composes = (declared.normalizer or {}).get("type") in _COMPOSING
        trimming = _trims_offsets(declared.post_processor)
        self._trims = trimming is not None
        self._prefixed = int(trimming or 0)
        self._bytes, self._lead, self._trail = vocabulary.bytes, vocabulary.lead, vocabulary.trail
        self.fast = vocabulary.byte_level and all(self._agrees_with_reference(text) for text in (*FIXED, *LEADING))

    def mask_tokens_in_spans(self, text: str, ids: Ids, spans: Spans) -> Flags:
        """Marks the tokens of a text that are in spans of it.

        A span's tokens go from the token of its first character to that of its last one, both included. If no token
        covers a span's first character, this span and all later ones are ignored. If no token covers its last
        character, the span goes to the end of the text. transformers and Levanter do the same.

        Args:
            text: the text.
            ids: its ids, int32, shape (n,).
            spans: (begin, end) of each span, in characters; end is not included.

        Returns:
            For each id whether its token is in a span, bool.
        """
        flags = np.zeros(len(ids), np.bool_)
        spans = [(begin, end) for begin, end in spans if end > 0]
        if not spans or not len(ids):
            return flags
        places = [place for begin, end in spans for place in (begin, end - 1)]
        tokens = self._tokens_by_ids(text, ids, places) if self.fast else None
        if tokens is None:
            with panics_as_errors():
                encoding = self._reference.encode(text, add_special_tokens=False)
            tokens = [_token_or_none(encoding.char_to_token(place)) if place >= 0 else -1 for place in places]
        for first, last in zip(tokens[::2], tokens[1::2], strict=True):
            if first < 0:
                break
            flags[first : last + 1 if last >= 0 else len(ids)] = True
        return flags

    def _tokens_by_ids(self, text: str, ids: Ids, places: Sequence[int]) -> list[int] | None:
        """The tokens of characters (-1: no token). None if the ids alone are not enough."""
        size = utf8_size(text)
        at = np.asarray(places, np.int64)
        inside = (at >= 0) & (at < len(text))
        at = np.where(inside, at, 0)
        if size != len(text):
            at = _character_byte_offsets(text, at.tolist())
        tokens, ends, total = self._tokens_at(ids, at)
        if total != size or not self._is_kept(text):
            return None
        if self._trims:
            own = ids[tokens]
            starts_at = ends - self._bytes[own]
            kept = np.where(starts_at == 0, self._prefixed, 0)  # a space that the tokenizer may have added
            begins = starts_at + np.maximum(self._lead[own] - kept, 0)
            inside &= (at >= begins) & (at < ends - self._trail[own])
        covering: list[int] = np.where(inside, tokens, -1).tolist()
        return covering

    def _tokens_at(self, ids: Ids, at: Places) -> tuple[Places, Places, int]:
        """The token of each byte, the end of that token in bytes, and the bytes of all tokens.

        Ids are read in blocks, to limit memory.
        """
        tokens, ends = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        before = 0
        for start in range(0, len(ids), STRETCH):
            sums = np.cumsum(self._bytes[ids[start : start + STRETCH]]) + before
            inside = (at >= before) & (at < sums[-1])
            numbers = np.searchsorted(sums, at[inside], side="right")
            tokens[inside], ends[inside] = numbers + start, sums[numbers]
            before = int(sums[-1])
        return tokens, ends, before

    def _is_kept(self, text: str) -> bool:
        """Whether the normalizer leaves a text unchanged. A huge text is checked in parts."""
        if self._normalizer is None or (self._composes and text.isascii()):
            return True
        parts = (text,) if len(text) <= STRETCH else safe_windows(text, "", BREAKS, lambda _, __: True)
        return all(self._normalizer.normalize_str(part) == part for part in parts)

    def _agrees_with_reference(self, text: str) -> bool:
        """Whether every character of a text gets the token that the reference gives."""
        with panics_as_errors():
            encoding = self._reference.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, np.int32)
        if not len(ids):
            return True
        tokens = self._tokens_by_ids(text, ids, range(len(text)))
        return tokens is None or tokens == [_token_or_none(encoding.char_to_token(place)) for place in range(len(text))]


def _character_byte_offsets(text: str, places: Sequence[int]) -> npt.NDArray[np.int64]:
    """Where characters begin in the text's UTF-8.

    There is no table of all characters, because a text may have 100 MB.
    """
    begins: dict[int, int] = {}
    before = size = 0
    for place in sorted(set(places)):
        for start in range(before, place, STRETCH):
            size += len(text[start : min(start + STRETCH, place)].encode())
        begins[place] = size
        before = place
    return np.array([begins[place] for place in places], np.int64)


def _token_or_none(token: int | None) -> int:
    """The token, or -1 for None."""
    return -1 if token is None else token


def _trims_offsets(post_processor: Any) -> bool | None:
    """Whether the tokenizer's offsets leave out white space at the ends of a token.

    A byte-level post-processor does so by default.

    Returns:
        None: no. True or False: yes. True: the first space of a text is kept, because the tokenizer may have added it.
    """
    if not isinstance(post_processor, dict):
        return None
    if post_processor.get("type") == "ByteLevel":
        trims = bool(post_processor.get("trim_offsets", True))
        return bool(post_processor.get("add_prefix_space", True)) if trims else None
    settings = (_trims_offsets(setting) for setting in post_processor.get("processors") or ())
    return next((setting for setting in settings if setting is not None), None)
