"""Shows a trial as lines for a terminal: speed, scores with their distribution and extremes, spans in context."""

from collections.abc import Iterator, Sequence
from typing import Any

from gristmill.errors import shorten
from gristmill.recipes.tagger import Tagger
from gristmill.trial.pieces import Drawn, DrawnSample
from gristmill.trial.trial import Failure, Trial

BARS = "▁▂▃▄▅▆▇█"
BINS = 24
AROUND = 40
"""Code points of a text that are shown before and behind a span."""
MOST_LABELS = 60
"""Labels that are shown; of a tagger with more, those that most documents have."""
_MOST_FAILURES = 20
_WIDTH = 100


def trial_lines(tagger: Tagger, sample: DrawnSample, trial: Trial, examples: int) -> Iterator[str]:
    """The lines of a trial. Texts and names in them are not escaped yet.

    Args:
        tagger: tagger that was tried.
        sample: the documents.
        trial: trial with its results.
        examples: documents that are shown at each end of a score, and spans that are shown of a label.
    """
    yield (
        f"{tagger.name} on {sample.asset} ({sample.snapshot}): {_counted_noun(len(sample.rows), 'row')} of the"
        f" {sample.looked:,} in {sample.pieces:,} of {_counted_noun(sample.of, 'piece')}, drawn by hash"
    )
    yield _speed_in_words(trial)
    yield from _failure_lines(trial.failures)
    for drawn, what in trial.differing[:examples]:
        where = _document_place(drawn)
        yield f"  alone, {where} gets another {what}: the labels of a document must not depend on others"
    names = sorted(trial.names, key=lambda name: -sum(row.get(name) is not None for row in trial.labels))[:MOST_LABELS]
    for name in sorted(names):
        yield ""
        labels = [row.get(name) for row in trial.labels]
        if any(isinstance(label, list) for label in labels):
            yield from _span_lines(name, labels, trial.drawn, examples)
        else:
            yield from _score_lines(name, labels, trial.drawn, examples)
    if len(names) < len(trial.names):
        yield f"and {_counted_noun(len(trial.names) - len(names), 'label')} that fewer documents have"
    absent = sorted(
        label.name for label in tagger.labels or () if label.name not in trial.names and "*" not in label.name
    )
    if absent and trial.labels:
        yield f"no document has: {shorten(', '.join(absent), 5 * _WIDTH)}"


def _speed_in_words(trial: Trial) -> str:
    rows = len(trial.drawn)
    seconds = max(trial.seconds, 1e-6)
    return (
        f"  {rows / seconds:,.0f} rows and {trial.bytes / seconds / 1e6:,.2f} MB a CPU second ({trial.seconds:.3f} s"
        f" for {trial.bytes / 1e6:,.2f} MB); the first document took {trial.opening:.3f} s"
    )


def _failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    if failures:
        yield f"  failed for {_counted_noun(len(failures), 'row')}:"
    for failure in failures[:_MOST_FAILURES]:
        yield f"    {_document_place(failure.drawn)}: {failure.reason}"
    if len(failures) > _MOST_FAILURES:
        yield f"    and {len(failures) - _MOST_FAILURES:,} more"


def _score_lines(name: str, labels: Sequence[Any], drawn: Sequence[Drawn], examples: int) -> Iterator[str]:
    rows = sorted(
        ((float(label), i) for i, label in enumerate(labels) if label is not None), key=lambda each: (each[0], each[1])
    )
    values = [value for value, _ in rows]
    yield f"{name}: {_counted_noun(len(values), 'score')} of {_counted_noun(len(labels), 'row')}"
    least, most = values[0], values[-1]
    quantiles = "  ".join(
        f"{part}% {_format_number(_quantile_of_sorted(values, part / 100))}" for part in (5, 25, 50, 75, 95)
    )
    yield f"  least {_format_number(least)}  {quantiles}  most {_format_number(most)}"
    if least < most:
        yield f"  {_format_number(least)} {_text_histogram(values)} {_format_number(most)}"
    lowest = rows[:examples]
    highest = [row for row in rows[::-1][:examples] if row not in lowest]
    for word, some in (("lowest", lowest), ("highest", highest)):
        for value, place in some if least < most else ():
            yield f"  {word:<7} {_format_number(value):>10}  {_document_place(drawn[place])}"
            yield f"    | {_escape_line(drawn[place].document.text[: 4 * _WIDTH])}"


def _span_lines(name: str, labels: Sequence[Any], drawn: Sequence[Drawn], examples: int) -> Iterator[str]:
    holders = [i for i, label in enumerate(labels) if label]
    count = sum(len(labels[i]) for i in holders)
    covered = sum(end - start for i in holders for start, end, _ in labels[i])
    length = sum(len(row.document.text) for row in drawn)
    yield (
        f"{name}: {_counted_noun(count, 'span')} in {len(holders):,} of {_counted_noun(len(labels), 'row')},"
        f" {covered:,} of {length:,} code points"
    )
    scores = sorted(float(score) for i in holders for _, _, score in labels[i])
    if scores and scores[0] < scores[-1]:
        yield f"  scores {_format_number(scores[0])} {_text_histogram(scores)} {_format_number(scores[-1])}"
    shown = [(i, span) for i in holders for span in labels[i][:1]]
    shown += [(i, span) for i in holders for span in labels[i][1:examples]]
    for i, (start, end, score) in shown[:examples]:
        yield f"  {_document_place(drawn[i])} [{start}, {end}) {_format_number(float(score))}"
        yield f"    | {_span_in_context(drawn[i].document.text, start, end)}"


def _span_in_context(text: str, start: int, end: int) -> str:
    """A span between its marks, with some of the text before and behind it; a long span without its middle."""
    inside = text[start:end]
    if len(inside) > 2 * AROUND:
        inside = f"{inside[:AROUND]} ... {inside[-AROUND:]}"
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return f"{_visible_spaces(before)}>>{_visible_spaces(inside)}<<{_visible_spaces(after)}"


def _quantile_of_sorted(values: Sequence[float], share: float) -> float:
    return values[round(share * (len(values) - 1))]


def _text_histogram(values: Sequence[float]) -> str:
    """One bar for each of equal bins between the least and the greatest of sorted numbers."""
    least, most = values[0], values[-1]
    counts = [0] * BINS
    for value in values:
        counts[min(int((value / 2 - least / 2) / (most / 2 - least / 2) * BINS), BINS - 1)] += 1
    return "".join(BARS[-(-count * (len(BARS) - 1) // max(counts))] for count in counts)


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.5g}"


def _document_place(drawn: Drawn) -> str:
    return f"{drawn.shard} row {drawn.row}  {shorten(drawn.document.id, _WIDTH)}"


def _escape_line(text: str) -> str:
    return shorten(" ".join(text.split()), _WIDTH)


def _visible_spaces(text: str) -> str:
    return "".join(" " if character.isspace() else character for character in text)


def _counted_noun(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
