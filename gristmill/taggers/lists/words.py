"""Words of a list in documents: LDNOOBW in 28 languages, or a team's own words and patterns.

LDNOOBW is the "List of Dirty, Naughty, Obscene, and Otherwise Bad Words" (github: LDNOOBW, CC BY 4.0), by which C4 and
RedPajama filter. It is brought into the lake as a model: the archive of its files, one for each language. A word of one
language may be harmless in another (`con`, `del`), so a rule should read the count of the document's language.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from gristmill.lake.rows.document import Span
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Score, Spans, Tagger
from gristmill.text.huge.limits import bounded
from gristmill.text.lists.pattern_table import PatternTable
from gristmill.text.lists.word_lines import listed_words
from gristmill.text.lists.word_table import WordTable, hits_by_language


def word_list(
    name: str,
    *,
    models: Sequence[str],
    languages: Sequence[str] = (),
    patterns: bool = False,
    description: str = "",
) -> Tagger:
    """A tagger that finds the words of lists.

    Args:
        name: name of the tagger, such as `rude-words-1`.
        models: the lists, as names of models of the lake. Each is a file, a folder or a tar archive; a file has a word
            or a phrase a line, and is named as its language.
        languages: the files that are read; empty means all.
        patterns: whether lines are regular expressions in RE2's syntax, in place of words. They are found anywhere,
            also inside of words, unless they ask for the edge of a word. Files are then not told apart.
        description: description for people.
    """
    by_language = () if patterns else (_BY_LANGUAGE,)
    return Tagger(
        name=name,
        models=tuple(models),
        open=lambda files: open_word_lists(files, languages=languages, patterns=patterns),
        labels=(
            Spans("hits", "each place where a word of the list is", low=1, high=1),
            Score("count", "how many hits there are", unit="hits", low=0),
            Score("share", "share of the code points that are in hits", low=0, high=1, optional=True),
            *by_language,
        ),
        parameters={"languages": list(languages), "patterns": patterns},
        description=description or "The words of a list in documents.",
    )


_BY_LANGUAGE = Score(
    "count_*", "how many hits are in the list of this language; missing if none", unit="hits", low=1, optional=True
)


def open_word_lists(
    files: Mapping[str, Path], *, languages: Sequence[str] = (), patterns: bool = False
) -> Callable[[Batch], Mapping[str, Any]]:
    """Opens lists: see word_list.

    Args:
        files: the lists by name.
        languages: names of the files that are read, as for word_list().
        patterns: whether lines are regular expressions, as for word_list().

    Returns:
        A function from a batch to its labels.

    Raises:
        RecipeError: a list cannot be read, is empty or too long, lacks a language, or has a pattern that RE2 does not
            take.
    """
    listed = chain.from_iterable(listed_words(path, languages) for path in files.values())
    if patterns:
        table = PatternTable.of(listed)
        return lambda batch: _word_labels(
            batch,
            [
                ([Span(*hit, 1.0) for hit in bounded(table.find_pattern_hits(text), "hits", number)], {})
                for number, text in enumerate(batch.texts)
            ],
        )
    words = WordTable.of(listed)

    def tag(batch: Batch) -> Mapping[str, Any]:
        rows: list[tuple[list[Span], Mapping[str, int]]] = []
        for number, text in enumerate(batch.texts):
            hits = bounded(words.find_word_hits(text), "hits", number)
            rows.append(([Span(hit.start, hit.end, 1.0) for hit in hits], hits_by_language(hits)))
        return _word_labels(batch, rows)

    return tag


def _word_labels(batch: Batch, rows: Sequence[tuple[list[Span], Mapping[str, int]]]) -> dict[str, list[Label]]:
    labels: dict[str, list[Label]] = {
        "hits": [spans for spans, _ in rows],
        "count": [float(len(spans)) for spans, _ in rows],
        "share": [
            sum(end - start for start, end, _ in spans) / len(text) if text else None
            for (spans, _), text in zip(rows, batch.texts, strict=True)
        ],
    }
    for number, (_, counts) in enumerate(rows):
        for language, count in counts.items():
            labels.setdefault(f"count_{language}", [None] * len(rows))[number] = float(count)
    return labels


LDNOOBW = word_list(
    "ldnoobw-words-1",
    models=("ldnoobw-1",),
    description="The words of LDNOOBW, in 28 languages.",
)
