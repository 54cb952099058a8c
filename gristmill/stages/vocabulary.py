"""Tables over a tokenizer's ids: how many bytes each stands for, and which are no characters of their own."""

import re

import msgspec
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

SPACE = "\u0120"
"""How a byte-level vocabulary writes a space."""
_FALLBACK = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
"""The bytes that a byte-level vocabulary writes as the character of the same number (GPT-2's table); the others are
the characters from 256 on, in order."""

Counts = npt.NDArray[np.int64]


class Vocabulary:
    """Tables of as many elements as there are ids.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        reference: the same tokenizer, loaded.

    Attributes:
        size: the highest id and one.
        byte_level: whether every entry stands for bytes; else the three tables of bytes are 0.
        bytes: bytes that an id stands for.
        lead: spaces in front, of these.
        trail: spaces behind.
        fragments: ids that are pieces of a character: bytes that are no UTF-8 alone, or a byte fallback (`<0x0A>`).
        unknown: the id of the unknown token, or None.
    """

    def __init__(self, tokenizer_json: bytes, reference: Tokenizer) -> None:
        entries = reference.get_vocab(with_added_tokens=True)
        added = {number: token.content for number, token in reference.get_added_tokens_decoder().items()}
        unknown = msgspec.json.decode(tokenizer_json, type=_Declared).model.unk_token
        self.unknown: int | None = entries.get(unknown) if isinstance(unknown, str) else None
        self.size = max(entries.values(), default=-1) + 1
        self.bytes: Counts = np.zeros(self.size, np.int64)
        self.lead: Counts = np.zeros(self.size, np.int64)
        self.trail: Counts = np.zeros(self.size, np.int64)
        self.fragments: npt.NDArray[np.bool_] = np.zeros(self.size, np.bool_)
        own = {token: number for token, number in entries.items() if number not in added}
        self.byte_level = _ALPHABET.issuperset("".join(own))
        if not self.byte_level:
            self.fragments[[number for token, number in own.items() if _FALLBACK.fullmatch(token)]] = True
            return
        numbers = np.fromiter(own.values(), np.int64, len(own))
        self.bytes[numbers] = np.fromiter(map(len, own), np.int64, len(own))
        for token, number in own.items():
            if token[:1] == SPACE or token[-1:] == SPACE:
                self.lead[number], self.trail[number] = _around(token, SPACE)
            if not token.isascii() and _is_fragment(token):
                self.fragments[number] = True
        for number, text in added.items():
            self.bytes[number] = len(text.encode())
            self.lead[number], self.trail[number] = _around(text, None)


class _Model(msgspec.Struct):
    unk_token: str | float | None = None


class _Declared(msgspec.Struct):
    model: _Model


def _around(token: str, space: str | None) -> tuple[int, int]:
    """Spaces in front and behind; one that is all spaces has all of them at both ends."""
    bare = token.lstrip(space)
    lead = len(token) - len(bare)
    return lead, len(bare) - len(bare.rstrip(space)) if bare else lead


def _is_fragment(token: str) -> bool:
    """Whether the bytes of a byte-level token are no UTF-8."""
    if token.lstrip(SPACE).isascii():
        return False
    try:
        token.translate(_BYTES).encode("latin-1").decode()
    except UnicodeDecodeError:
        return True
    return False


def _byte_table() -> dict[int, int]:
    """The byte of each character, both as numbers: what str.translate takes."""
    printed = set(_PRINTED)
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: byte for byte in _PRINTED} | {256 + place: byte for place, byte in enumerate(others)}


_ALPHABET = frozenset(ByteLevel.alphabet())
_BYTES = _byte_table()
