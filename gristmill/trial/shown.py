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


def lines_of(tagger: Tagger, sample: DrawnSample, trial: Trial, examples: int) -> Iterator[str]:
    """The lines of a trial. Texts and names in them are not escaped yet.

    Args:
        tagger: tagger that was tried.
        sample: the documents.
        trial: trial with its results.
        examples: documents that are shown at each end of a score, and spans that are shown of a label.
    """
    yield (
        f"{tagger.name} on {sample.asset} ({sample.snapshot}): {_counted(len(sample.rows), 'row')} of the"
        f" {sample.looked:,} in {sample.pieces:,} of {_counted(sample.of, 'piece')}, drawn by hash"
    )
    yield _speed(trial)
    yield from _failures(trial.failures)
    for drawn, what in trial.differing[:examples]:
        yield f"  alone, {_where(drawn)} gets another {what}: the labels of a document must not depend on others"
    names = sorted(trial.names, key=lambda name: -sum(row.get(name) is not None for row in trial.labels))[:MOST_LABELS]
    for name in sorted(names):
        yield ""
        labels = [row.get(name) for row in trial.labels]
        if any(isinstance(label, list) for label in labels):
            yield from _spans(name, labels, trial.drawn, examples)
        else:
            yield from _scores(name, labels, trial.drawn, examples)
    if len(names) < len(trial.names):
        yield f"and {_counted(len(trial.names) - len(names), 'label')} that fewer documents have"
    absent = sorted(
        label.name for label in tagger.labels or () if label.name not in trial.names and "*" not in label.name
    )
    if absent and trial.labels:
        yield f"no document has: {shorten(', '.join(absent), 5 * _WIDTH)}"


def _speed(trial: Trial) -> str:
    rows = len(trial.drawn)
    seconds = max(trial.seconds, 1e-6)
    return (
        f"  {rows / seconds:,.0f} rows and {trial.bytes / seconds / 1e6:,.2f} MB a CPU second ({trial.seconds:.3f} s"
        f" for {trial.bytes / 1e6:,.2f} MB); the first document took {trial.opening:.3f} s"
    )


def _failures(failures: Sequence[Failure]) -> Iterator[str]:
    if failures:
        yield f"  failed for {_counted(len(failures), 'row')}:"
    for failure in failures[:_MOST_FAILURES]:
        yield f"    {_where(failure.drawn)}: {failure.reason}"
    if len(failures) > _MOST_FAILURES:
        yield f"    and {len(failures) - _MOST_FAILURES:,} more"


def _scores(name: str, labels: Sequence[Any], drawn: Sequence[Drawn], examples: int) -> Iterator[str]:
    rows = sorted(
        ((float(label), i) for i, label in enumerate(labels) if label is not None), key=lambda each: (each[0], each[1])
    )
    values = [value for value, _ in rows]
    yield f"{name}: {_counted(len(values), 'score')} of {_counted(len(labels), 'row')}"
    least, most = values[0], values[-1]
    quantiles = "  ".join(f"{part}% {_number(_quantile(values, part / 100))}" for part in (5, 25, 50, 75, 95))
    yield f"  least {_number(least)}  {quantiles}  most {_number(most)}"
    if least < most:
        yield f"  {_number(least)} {_histogram(values)} {_number(most)}"
    lowest = rows[:examples]
    highest = [row for row in rows[::-1][:examples] if row not in lowest]
    for word, some in (("lowest", lowest), ("highest", highest)):
        for value, place in some if least < most else ():
            yield f"  {word:<7} {_number(value):>10}  {_where(drawn[place])}"
            yield f"    | {_flat(drawn[place].document.text[: 4 * _WIDTH])}"


def _spans(name: str, labels: Sequence[Any], drawn: Sequence[Drawn], examples: int) -> Iterator[str]:
    holders = [i for i, label in enumerate(labels) if label]
    count = sum(len(labels[i]) for i in holders)
    covered = sum(end - start for i in holders for start, end, _ in labels[i])
    length = sum(len(row.document.text) for row in drawn)
    yield (
        f"{name}: {_counted(count, 'span')} in {len(holders):,} of {_counted(len(labels), 'row')},"
        f" {covered:,} of {length:,} code points"
    )
    scores = sorted(float(score) for i in holders for _, _, score in labels[i])
    if scores and scores[0] < scores[-1]:
        yield f"  scores {_number(scores[0])} {_histogram(scores)} {_number(scores[-1])}"
    shown = [(i, span) for i in holders for span in labels[i][:1]]
    shown += [(i, span) for i in holders for span in labels[i][1:examples]]
    for i, (start, end, score) in shown[:examples]:
        yield f"  {_where(drawn[i])} [{start}, {end}) {_number(float(score))}"
        yield f"    | {_context(drawn[i].document.text, start, end)}"


def _context(text: str, start: int, end: int) -> str:
    """A span between its marks, with some of the text before and behind it; a long span without its middle."""
    inside = text[start:end]
    if len(inside) > 2 * AROUND:
        inside = f"{inside[:AROUND]} ... {inside[-AROUND:]}"
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return f"{_spaced(before)}>>{_spaced(inside)}<<{_spaced(after)}"


def _quantile(values: Sequence[float], share: float) -> float:
    return values[round(share * (len(values) - 1))]


def _histogram(values: Sequence[float]) -> str:
    """One bar for each of equal bins between the least and the greatest of sorted numbers."""
    least, most = values[0], values[-1]
    counts = [0] * BINS
    for value in values:
        counts[min(int((value / 2 - least / 2) / (most / 2 - least / 2) * BINS), BINS - 1)] += 1
    return "".join(BARS[-(-count * (len(BARS) - 1) // max(counts))] for count in counts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.5g}"


def _where(drawn: Drawn) -> str:
    return f"{drawn.shard} row {drawn.row}  {shorten(drawn.document.id, _WIDTH)}"


def _flat(text: str) -> str:
    return shorten(" ".join(text.split()), _WIDTH)


def _spaced(text: str) -> str:
    return "".join(" " if character.isspace() else character for character in text)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
