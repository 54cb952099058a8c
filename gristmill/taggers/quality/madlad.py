"""MADLAD: sentences that MADLAD-400 calls questionable, as spans, and their share.

Source: Kudugunta et al. 2023, "MADLAD-400: A Multilingual And Document-Level Large Audited Dataset", on its filters. It
removes documents with fewer than 5 sentences, or with more than 20% of questionable ones. Of its five rules three are
here. The others need a language for each sentence, and the authors' list of expressions.

The paper does not say how it splits sentences. Here a sentence ends with a word that ends with a mark that ends
sentences, in any script; words of such marks alone belong to the sentence before. A text in scripts without spaces has
no labels.
"""

import re
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.characters.sentence_ends import sentence_ends
from gristmill.text.characters.sets import Characters, running_sums, uppercase_characters
from gristmill.text.column import TextColumn
from gristmill.text.pieces import Pieces
from gristmill.text.words import Words

SHORTEST, LONGEST = 20, 500
WORDS = 12
"""The fewest words of a sentence in which capitals are counted."""

TECHNICAL = "0123456789{}+/()>"


def tag(batch: Batch) -> dict[str, Any]:
    """The labels of a batch of documents."""
    return batch.in_blocks(measured, finished, sentence_end)


def measured(column: TextColumn) -> dict[str, Any]:
    """The labels of the texts of one column."""
    words = column.words
    sentences, firsts = _split_sentences(words)
    counts = np.diff(np.append(firsts, len(words.starts)))
    great = np.diff(
        running_sums(uppercase_characters().among_units(words.column.units[words.starts]))[
            np.append(firsts, len(words.starts))
        ]
    )
    (marks,) = np.nonzero(Characters.of(TECHNICAL).among(column.points))
    technical = np.searchsorted(marks, sentences.ends) - np.searchsorted(marks, sentences.starts)
    rules = {
        "short": sentences.lengths < SHORTEST,
        "long": sentences.lengths > LONGEST,
        "technical": 5 * technical > sentences.lengths,
        "list_case": (counts >= WORDS) & (2 * great > counts),
    }
    unknown = column.unspaced[0]
    return {
        **{label: _sentence_spans(sentences, chosen, unknown) for label, chosen in rules.items()},
        "sentences": sentences.counts,
        "questionable": sentences.per_text(np.logical_or.reduce(list(rules.values()))),
        "unknown": unknown.astype(np.int64),
    }


def finished(found: dict[str, Any]) -> dict[str, Any]:
    """The labels of texts, from the sums of what was found in them."""
    unknown, sentences = found.pop("unknown") > 0, found["sentences"]
    share = found["questionable"] / np.maximum(sentences, 1)
    return {
        **found,
        "sentences": np.ma.MaskedArray(sentences, mask=unknown),
        "questionable": np.ma.MaskedArray(share, mask=unknown | (sentences == 0)),
    }


def sentence_end(text: str, start: int, end: int) -> int:
    """The offset where the last sentence of a stretch ends, with the white space after it; `start` if none ends there.

    >>> sentence_end("It is. Is it ? ... No", 0, 20), sentence_end("It is ...", 0, 9)
    (19, 0)
    """
    for found in _find_sentence_end().finditer(text, start, end):
        start = found.end()
    return start


@cache
def _find_sentence_end() -> re.Pattern[str]:
    """Finds a mark that ends a sentence, and the white space before a word of more than such marks."""
    ends = "".join(re.escape(chr(code)) for code in np.flatnonzero(sentence_ends().table).tolist())
    return re.compile(rf"[{ends}]\s+(?=[{ends}]*+[^\s{ends}])")


def _split_sentences(words: Words) -> tuple[Pieces, NDArray[np.int64]]:
    """The sentences of the texts, and the number of the first word of each."""
    ends = sentence_ends().among(words.column)
    (others,) = np.nonzero(~ends)
    marks_alone = np.searchsorted(others, words.starts) == np.searchsorted(others, words.ends)
    begins = np.zeros(len(words.starts), np.bool_)
    begins[1:] = ends[words.ends[:-1] - 1] & ~marks_alone[1:]
    begins[words.bounds[:-1][words.counts > 0]] = True
    (firsts,) = np.nonzero(begins)
    lasts = np.append(firsts[1:], len(words.starts))[: len(firsts)] - 1
    starts, stops = words.starts[firsts], words.ends[lasts]
    return Pieces(words.column, starts, stops, np.searchsorted(firsts, words.bounds)), firsts


def _sentence_spans(
    sentences: Pieces, chosen: NDArray[np.bool_], unknown: NDArray[np.bool_]
) -> list[NDArray[np.int64] | None]:
    """The chosen sentences of each text; None for texts in scripts without spaces."""
    spans = sentences.only(chosen).marks()
    return [None if without else each for each, without in zip(spans, unknown.tolist(), strict=True)]


def _sentence_rule(name: str, meaning: str) -> Spans:
    return Spans(name, meaning, low=1, high=1, optional=True, words=True)


MADLAD = Tagger(
    name="madlad-1",
    batch=tag,
    labels=(
        Score("sentences", "sentences", unit="sentences", low=0, optional=True, words=True),
        Score(
            "questionable",
            "share of sentences that one of the rules names",
            low=0,
            high=1,
            optional=True,
            words=True,
        ),
        _sentence_rule("short", f"each sentence of fewer than {SHORTEST} code points"),
        _sentence_rule("long", f"each sentence of more than {LONGEST} code points"),
        _sentence_rule("technical", f"each sentence of which more than a fifth are characters of `{TECHNICAL}`"),
        _sentence_rule(
            "list_case", f"each sentence of at least {WORDS} words, more than half of them with a capital first"
        ),
    ),
    parameters={"shortest": SHORTEST, "longest": LONGEST, "words": WORDS, "technical": TECHNICAL},
    description="Questionable sentences by MADLAD-400 (Kudugunta et al. 2023).",
)
