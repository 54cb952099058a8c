"""REDPAJAMA_LISTS: the quality signals of RedPajama-Data v2 that need a list of words.

Source: togethercomputer/RedPajama-Data, commit 855a8e02, app/src/core/quality_signals/content.py:
`RPS_Doc_LDNOOBW_Words` and `RPS_Doc_Stop_Word_Fraction`. The original has lists for each language of CCNet; here a
tagger has the lists of one language.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.characters.word_punctuation import WordsAndPunctuation
from gristmill.text.column import TextColumn
from gristmill.text.lists.phrases import Phrases
from gristmill.text.lists.word_lines import listed_words
from gristmill.text.rounding import round_like_python

_DIGITS = 8


def redpajama_lists(name: str, *, bad_words: str, stop_words: str, language: str = "en") -> Tagger:
    """A tagger of the signals that need lists.

    Args:
        name: name of the tagger; other lists or another language take another name.
        bad_words: the model with LDNOOBW: a file, a folder or a tar archive; a file has a word or a phrase a line, and
            is named as its language.
        stop_words: the model with the stop words of each language, in the same form.
        language: the file that is read in both.
    """
    return Tagger(
        name=name,
        models=(bad_words, stop_words),
        open=lambda files: open_lists(files[bad_words], files[stop_words], language),
        labels=(
            Score(
                "rps_doc_ldnoobw_words",
                "how many words and phrases of the list of bad words the normalized words have",
                unit="words",
                low=0,
                optional=True,
                words=True,
            ),
            Score(
                "rps_doc_stop_word_fraction",
                r"share of the tokens of `\w+|[^\w\s]+` that are stop words, with their case",
                low=0,
                high=1,
                optional=True,
                exact=True,
                words=True,
            ),
        ),
        parameters={"bad_words": bad_words, "stop_words": stop_words, "language": language, "digits": _DIGITS},
        description=f"The signals of RedPajama-Data v2 that need lists of words ({language}).",
    )


def open_lists(bad_words: Path, stop_words: Path, language: str) -> Callable[[Batch], Mapping[str, Any]]:
    """Opens both lists: see redpajama_lists.

    Returns:
        A function from a batch to its labels.

    Raises:
        RecipeError: a list cannot be read, or lacks the language.
    """
    bad, stop = (Phrases.of(word.text for word in listed_words(path, [language])) for path in (bad_words, stop_words))

    def measured(column: TextColumn) -> dict[str, Any]:
        normalized, tokens = column.normalized.words, WordsAndPunctuation.of(column.points)
        return {
            "rps_doc_ldnoobw_words": bad.count(normalized, normalized.hashes),
            "rps_doc_stop_word_fraction": stop.count(tokens, column.points.hashes(tokens.starts, tokens.ends)),
            "tokens": tokens.counts,
            "words": normalized.counts,
            "unknown": column.unspaced[0].astype(np.int64),
        }

    def finished(found: dict[str, Any]) -> dict[str, Any]:
        words, tokens, missing = (found.pop(name) for name in ("words", "tokens", "unknown"))
        shares = round_like_python(found["rps_doc_stop_word_fraction"] / np.maximum(tokens, 1), _DIGITS)
        found["rps_doc_stop_word_fraction"] = np.where(words == 0, 0.0, shares)
        return {label: np.ma.MaskedArray(values, mask=missing > 0) for label, values in found.items()}

    return lambda batch: batch.in_blocks(measured, finished)


REDPAJAMA_LISTS = redpajama_lists("redpajama-lists-1", bad_words="ldnoobw-1", stop_words="stop-words-1")
