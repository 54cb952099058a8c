"""WordTable: a list of words and phrases, all of which are found in a text at once."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import ahocorasick_rs

from gristmill.errors import RecipeError
from gristmill.text.huge.blocks import blocks
from gristmill.text.huge.windows import HUGE
from gristmill.text.lists.folded import Folded
from gristmill.text.lists.word_lines import ListedWord

MOST_WORDS = 1_000_000

# Scripts that are written without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
_BLANKS = re.compile(r"\s+")


class WordHit(NamedTuple):
    """A word of a list in a text.

    Attributes:
        start, end: code points of the text: the hit is `text[start:end]`.
        languages: the languages whose lists have the word.
    """

    start: int
    end: int
    languages: tuple[str, ...]


@dataclass(frozen=True)
class WordTable:
    """Words in one automaton (Aho-Corasick): a text is read once, however many words there are.

    Args:
        automaton: automaton that finds all words, also inside of others.
        words: folded, in the order of the automaton.
        languages: languages of each word.

    >>> table = WordTable.of([ListedWord("Damn", "en", "en:1"), ListedWord("糞", "ja", "ja:1")])
    >>> [(hit.start, hit.end, hit.languages) for hit in table.find_word_hits("damnation, DAMN! 馬糞")]
    [(11, 15, ('en',)), (18, 19, ('ja',))]
    """

    automaton: ahocorasick_rs.AhoCorasick
    words: tuple[str, ...]
    languages: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, listed: Iterable[ListedWord], most: int = MOST_WORDS) -> "WordTable":
        """The table of a list.

        Args:
            listed: the list; a word may occur again.
            most: words that a list may have.

        Raises:
            RecipeError: the list is empty, or has more than `most` words.
        """
        found: dict[str, set[str]] = {}
        for word in listed:
            found.setdefault(Folded.of(_BLANKS.sub(" ", word.text)).text, set()).add(word.language)
            if len(found) > most:
                raise RecipeError(f"{word.where}: a word list may have {most:,} words; divide it into several lists")
        if not found:
            raise RecipeError("the list has no words; bring one with a word or a phrase a line")
        automaton = ahocorasick_rs.AhoCorasick(list(found))
        return cls(automaton, tuple(found), tuple(tuple(sorted(languages)) for languages in found.values()))

    def find_word_hits(self, text: str, size: int = HUGE) -> Iterator[WordHit]:
        """All hits that do not overlap: of several at one place the longest, from left to right.

        A word counts where it stands alone: no letter, digit or mark is beside it. In scripts that are written without
        spaces between words, it counts everywhere. Of a line of more than a million code points, parts are searched.

        Args:
            text: any text.
            size: code points that are searched together; see `gristmill.text.huge.blocks`.
        """
        for first, last in blocks(text, size=size):
            end = 0
            for hit in self._find_all_hits(text[first:last]):
                if hit.start >= end:
                    yield WordHit(first + hit.start, first + hit.end, hit.languages)
                    end = hit.end

    def _find_all_hits(self, text: str) -> Iterator[WordHit]:
        """Where words stand alone: by start, the longest first."""
        folded = Folded.of(text)
        found = [
            (start, -end, number)
            for number, start, end in self.automaton.find_matches_as_indexes(folded.text, overlapping=True)
            if _is_word_alone(folded.text, start, end)
        ]
        found.sort()
        for start, end, number in found:
            yield WordHit(folded.original_offset(start), folded.original_offset(-end), self.languages[number])


def _is_word_alone(text: str, start: int, end: int) -> bool:
    if start > 0 and _are_in_one_word(text[start - 1], text[start]):
        return False
    return end == len(text) or not _are_in_one_word(text[end - 1], text[end])


def _are_in_one_word(left: str, right: str) -> bool:
    """Whether two characters are in one word."""
    return _is_in_word(left) and _is_in_word(right) and not (_UNSPACED.match(left) or _UNSPACED.match(right))


def _is_in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or (character > "\x7f" and unicodedata.category(character)[0] == "M")


def hits_by_language(hits: Iterable[WordHit]) -> Mapping[str, int]:
    """The hits of each language.

    >>> hits_by_language([WordHit(0, 4, ("de", "en")), WordHit(5, 9, ("en",))])
    {'de': 1, 'en': 2}
    """
    counts: dict[str, int] = {}
    for hit in hits:
        for language in hit.languages:
            counts[language] = counts.get(language, 0) + 1
    return dict(sorted(counts.items()))
