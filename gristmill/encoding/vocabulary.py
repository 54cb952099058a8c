"""Tables over a tokenizer's ids: how many bytes each token has, and which tokens are parts of a character."""

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from gristmill.encoding.tokenizer_json import parse_tokenizer_json

SPACE = "\u0120"
"""A space in a byte-level vocabulary."""
_FALLBACK = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
"""The bytes that a byte-level vocabulary writes as the character of the same number (GPT-2's table). The other bytes
are the characters from 256 on, in order."""

Counts = npt.NDArray[np.int64]


class Vocabulary(NamedTuple):
    """Tables with one element per id.

    Attributes:
        size: highest token id + 1.
        byte_level: whether every entry stands for bytes; if not, the three tables of counts are 0.
        unknown: id of the unknown token, or None.
        bytes: number of bytes of the token, int64.
        lead: number of leading spaces of the token, int64.
        trail: number of trailing spaces of the token, int64.
        fragments: whether the token's bytes alone are not UTF-8, bool: it has a part of a character, and perhaps other
            bytes; or whether it is a byte fallback (`<0x0A>`).
    """

    size: int
    byte_level: bool
    unknown: int | None
    bytes: Counts
    lead: Counts
    trail: Counts
    fragments: npt.NDArray[np.bool_]


def read_vocabulary(tokenizer_json: bytes, reference: Tokenizer) -> Vocabulary:
    """The tables of a tokenizer.

    Args:
        tokenizer_json: the bytes of its `tokenizer.json`.
        reference: the same tokenizer, loaded.

    >>> from tokenizers import models
    >>> tokenizer = Tokenizer(models.WordLevel({"mill": 0, "Ġriver": 1}))
    >>> vocabulary = read_vocabulary(tokenizer.to_str().encode(), tokenizer)
    >>> vocabulary.bytes.tolist(), vocabulary.lead.tolist()
    ([4, 6], [0, 1])
    """
    entries = reference.get_vocab(with_added_tokens=True)
    added = {number: token.content for number, token in reference.get_added_tokens_decoder().items()}
    unknown = parse_tokenizer_json(tokenizer_json).model.unk_token
    size = max(entries.values(), default=-1) + 1
    own = {token: number for token, number in entries.items() if number not in added}
    vocabulary = Vocabulary(
        size,
        byte_level=_ALPHABET.issuperset("".join(own)),
        unknown=entries.get(unknown) if isinstance(unknown, str) else None,
        bytes=np.zeros(size, np.int64),
        lead=np.zeros(size, np.int64),
        trail=np.zeros(size, np.int64),
        fragments=np.zeros(size, np.bool_),
    )
    if not vocabulary.byte_level:
        vocabulary.fragments[[number for token, number in own.items() if _FALLBACK.fullmatch(token)]] = True
        return vocabulary
    numbers = np.fromiter(own.values(), np.int64, len(own))
    vocabulary.bytes[numbers] = np.fromiter(map(len, own), np.int64, len(own))
    for token, number in own.items():
        if token[:1] == SPACE or token[-1:] == SPACE:
            vocabulary.lead[number], vocabulary.trail[number] = _outer_space_counts(token, SPACE)
        if not token.isascii() and _is_fragment(token):
            vocabulary.fragments[number] = True
    for number, text in added.items():
        vocabulary.bytes[number] = len(text.encode())
        vocabulary.lead[number], vocabulary.trail[number] = _outer_space_counts(text, None)
    return vocabulary


def _outer_space_counts(token: str, space: str | None) -> tuple[int, int]:
    """Number of leading and trailing spaces. A token of spaces only has all of them at both ends."""
    bare = token.lstrip(space)
    lead = len(token) - len(bare)
    return lead, len(bare) - len(bare.rstrip(space)) if bare else lead


def _is_fragment(token: str) -> bool:
    """Whether the bytes of a byte-level token are not UTF-8."""
    if token.lstrip(SPACE).isascii():
        return False
    try:
        token.translate(_BYTES).encode("latin-1").decode()
    except UnicodeDecodeError:
        return True
    return False


def _byte_of_character() -> dict[int, int]:
    """For each character of a byte-level vocabulary its byte, both as numbers, for str.translate."""
    printed = set(_PRINTED)
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: byte for byte in _PRINTED} | {256 + place: byte for place, byte in enumerate(others)}


_ALPHABET = frozenset(ByteLevel.alphabet())
_BYTES = _byte_of_character()
