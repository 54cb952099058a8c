"""Words of Chinese, Japanese, Thai and others, which are written without spaces: a tagger with splitters of its user.

A splitter divides a text of one language into words. A tagger that counts words between white space gets the text with
a space around each of these words. So its definition stays as it is, and spans are given in the text without them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.rows.document import Document, Span
from gristmill.lake.rows.label_values import listed_spans
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Column, Tagger, TaggerFailed
from gristmill.text.characters.scripts import SPACELESS, assume_divided_texts, language_by_script

Splitter = Callable[[str], Iterable[str]]
"""Takes one line, without its line feed, and returns its words in their order. What is left between two words, such as
punctuation, is a word too."""


def with_splitters(tagger: Tagger, name: str, splitters: Mapping[str, Splitter], *, version: str) -> Tagger:
    """The tagger for languages that are written without spaces.

    A text counts as such if more than half of it is of such a script. Its language is known by the script
    (`language_by_script`). The labels that are declared with `words=True` are then those of the text with a space
    around each word that the splitter of its language found. They are None if no splitter for it is given. All
    other labels, and all labels of other texts, are those of `tagger`.

    Args:
        tagger: one that declares its labels.
        name: name of the new tagger.
        splitters: splitter of each language, by its tag: `zh`, `ja`, `th`, `lo`, `km`, `my`, `bo`.
        version: the name and version of the splitters, for the recipe. Another version takes another `name`.

    Returns:
        A tagger whose labels about words are optional.

    Raises:
        RecipeError: the tagger declares no label about words, or a language is not one of them.

    >>> from gristmill.taggers.measures.lengths import LENGTHS
    >>> tagger = with_splitters(LENGTHS, "lengths-words-1", {"zh": lambda line: list(line)}, version="characters 1")
    >>> texts = ("我去学校", "ไปโรงเรียน", "to be")
    >>> tagger.look([Document(id=text, text=text, source="tales") for text in texts])["words"]
    [4.0, None, 2.0]
    """
    what = f"with_splitters({tagger.name!r}, {name!r})"
    if tagger.open is not None or not any(label.words for label in tagger.labels or ()):
        raise RecipeError(f"{what}: {tagger.name} declares no label with words=True, so splitters would change nothing")
    for language in splitters:
        if language not in SPACELESS:
            raise RecipeError(f"{what}: {language!r} is no language without spaces; {known_names(language, SPACELESS)}")
    if not version.strip():
        raise RecipeError(f"{what}: give version=, the name and version of the splitters, such as 'jieba 0.42.1'")
    inner = replace(tagger, name=name)
    return replace(
        tagger,
        name=name,
        document=None,
        batch=_WithSplitters(inner, dict(splitters)),
        labels=tuple(replace(label, optional=True) if label.words else label for label in tagger.labels or ()),
        parameters={**tagger.parameters, "splitters": sorted(splitters), "splitters_version": version},
    )


@dataclass(frozen=True)
class _Spaced:
    """A text with spaces around its words.

    Attributes:
        text: with the spaces.
        added: where they are in `text`, ascending.
    """

    text: str
    added: Sequence[int]

    @classmethod
    def of(cls, text: str, split: Splitter) -> "_Spaced":
        """The text with spaces around the words of each line.

        Raises:
            DataError: a word that the splitter returned does not follow in the text.
        """
        parts: list[str] = []
        added: list[int] = []
        size = 0
        for line in text.split("\n"):
            cuts = _word_cut_places(line, split)
            for start, end in zip([0, *cuts], [*cuts, len(line)], strict=True):
                if start:
                    added.append(size)
                    parts.append(" ")
                    size += 1
                parts.append(line[start:end])
                size += end - start
            parts.append("\n")
            size += 1
        return cls("".join(parts)[:-1], added)

    def original_offset(self, place: int) -> int:
        """The offset in the text without the spaces, of an offset in the text with them."""
        return place - bisect_left(self.added, place)


def _word_cut_places(line: str, split: Splitter) -> list[int]:
    """The places inside a line at which one word ends and another begins, without white space between them."""
    cuts: list[int] = []
    at = 0
    for word in split(line):
        found = line.find(word, at)
        if found < 0:
            raise DataError(f"the splitter returned {word!r:.40}, which does not follow in its line at {at}")
        cuts += (found, found + len(word))
        at = found + len(word)
    inside = sorted({cut for cut in cuts if 0 < cut < len(line)})
    return [cut for cut in inside if not (line[cut - 1].isspace() or line[cut].isspace())]


@dataclass(frozen=True)
class _WithSplitters:
    """The function of a tagger with splitters."""

    tagger: Tagger
    splitters: Mapping[str, Splitter]

    def __call__(self, batch: Batch) -> dict[str, Any]:
        """The labels of a batch."""
        labels: dict[str, Any] = dict(self.tagger.columns(batch))
        wide = (place for place, text in enumerate(batch.texts) if not text.isascii())
        languages = {place: found for place in wide if (found := language_by_script(batch.texts[place])) is not None}
        if not languages:
            return labels
        spaced = {
            place: self._space_words(place, batch.texts[place], self.splitters[language])
            for place, language in languages.items()
            if language in self.splitters
        }
        divided = self._label_spaced_texts(batch, spaced)
        for label in self.tagger.labels or ():
            if label.words and label.name in labels:
                column = _column_as_list(labels[label.name])
                for place in languages:
                    column[place] = None
                for place, value in zip(spaced, divided.get(label.name, ()), strict=False):
                    column[place] = _move_label_spans(value, spaced[place])
                labels[label.name] = column
        return labels

    @staticmethod
    def _space_words(place: int, text: str, split: Splitter) -> _Spaced:
        try:
            return _Spaced.of(text, split)
        except DataError as error:
            raise TaggerFailed(place, str(error)) from error

    def _label_spaced_texts(self, batch: Batch, spaced: Mapping[int, _Spaced]) -> dict[str, list[Any]]:
        """The labels of the texts with spaces, in the order of `spaced`."""
        if not spaced:
            return {}
        documents: Sequence[Document] = [
            msgspec.structs.replace(batch[place], text=each.text) for place, each in spaced.items()
        ]
        try:
            with assume_divided_texts():
                return {name: _column_as_list(column) for name, column in self.tagger.columns(Batch(documents)).items()}
        except TaggerFailed as error:
            raise TaggerFailed(list(spaced)[error.number], error.reason) from error


def _column_as_list(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _move_label_spans(value: Any, spaced: _Spaced) -> Any:
    """A label of the text with spaces, for the text without them. Only spans differ."""
    value = listed_spans(value)
    if isinstance(value, list):
        return [Span(spaced.original_offset(start), spaced.original_offset(end), score) for start, end, score in value]
    return value
