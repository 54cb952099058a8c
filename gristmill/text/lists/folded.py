"""Folded texts: in one case and in NFC, with the way back to the offsets of the text as it is."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np

from gristmill.text.characters.normalized import normalize_unicode
from gristmill.text.code_points import Numbers


@dataclass(frozen=True)
class Folded:
    r"""A text to search in.

    Letters are compared by their simple case: each code point gives one code point. So `ß` is not `ss`, `İ` and `I` are
    `i`, and a final sigma is a sigma. Composed and decomposed letters are the same (NFC).

    Args:
        text: the folded text.
        places: places where the folded text's offsets differ from the text's: offsets in the folded text, ascending
            (C).
        shifts: number to add to an offset from each of `places` on (C).

    >>> folded = Folded.of("Cafe\u0301 ΟΔΟΣ")
    >>> folded.text, folded.original_offset(5)
    ('café οδοσ', 6)
    """

    text: str
    places: Numbers
    shifts: Numbers

    @classmethod
    def of(cls, text: str) -> "Folded":
        """The folded form of a text. A lone surrogate becomes U+FFFD."""
        if text.isascii():
            return cls(text.lower(), _NONE, _NONE)
        places, shifts = _NONE, _NONE
        if not unicodedata.is_normalized("NFC", text):
            text, places, shifts = _compose_nfc(text)
        return cls(_lower_code_points(text), places, shifts)

    def original_offset(self, offset: int) -> int:
        """The offset in the text of an offset in the folded text; one inside a changed letter is its end."""
        if not len(self.places):
            return offset
        at = int(np.searchsorted(self.places, offset, side="right"))
        return offset + (int(self.shifts[at - 1]) if at else 0)


def _lower_code_points(text: str) -> str:
    """The text with each code point in lower case, in as many code points."""
    lowered = text.lower()
    if len(lowered) != len(text):  # with `İ`, whose lower case has two
        lowered = text.translate(_case_folding_table())
    try:
        lowered.encode()
    except UnicodeEncodeError:
        lowered = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", lowered)
    return lowered.replace("\N{GREEK SMALL LETTER FINAL SIGMA}", _SIGMA).replace("\N{LATIN SMALL LETTER LONG S}", "s")


_LONG = 30  # code points; of more, `normalize_unicode` puts combining marks in order in linear time
_PLANES = 0x30000  # above are no letters of two cases and no combining ones
_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_NONE: Numbers = np.zeros(0, np.int64)


def _compose_nfc(text: str) -> tuple[str, Numbers, Numbers]:
    """A text in NFC, and where its offsets change by how much, all changes before included."""
    pieces: list[str] = []
    places: list[int] = []
    shifts: list[int] = []
    done = size = shift = 0
    for found in _composable_pattern().finditer(text):
        start = max(found.start() - 1, 0)  # with the code point that they may join
        old = text[start : found.end()]
        new = normalize_unicode("NFC", old) if len(old) > _LONG else unicodedata.normalize("NFC", old)
        if new != old:
            before = text[done:start]
            pieces += (before, new)
            size += len(before) + len(new)
            done = found.end()
            if len(new) != len(old):
                shift += len(old) - len(new)
                places.append(size)
                shifts.append(shift)
    pieces.append(text[done:])
    return "".join(pieces), np.array(places, np.int64), np.array(shifts, np.int64)


@cache
def _composable_pattern() -> re.Pattern[str]:
    """Whatever NFC may change: code points that may join the one before them, and those that have another form."""
    joining: set[str] = set(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))  # of Hangul syllables
    changed: set[str] = set()
    for point in range(_PLANES):
        character = chr(point)
        if unicodedata.combining(character):
            joining.add(character)
        parts = unicodedata.decomposition(character)
        if parts and parts[0] != "<":
            joining.update(chr(int(part, 16)) for part in parts.split()[1:])
            if unicodedata.normalize("NFC", character) != character:
                changed.add(character)
    return re.compile(f"[{''.join(map(re.escape, sorted(joining | changed)))}]+")


@cache
def _case_folding_table() -> dict[int, str]:
    """For each code point that is not in lower case the one that it is compared as."""
    return {point: chr(point).lower()[0] for point in range(_PLANES) if chr(point).lower() != chr(point)}
