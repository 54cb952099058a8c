"""What the comparison of a snapshot says to people: one sentence, and an entry for each number."""

import math
from collections.abc import Sequence

from gristmill.drift.comparison import LEAST, Measure
from gristmill.reports.score_plot import short_number
from gristmill.reports.sizes import percentage

_NAMED = 3
"""Numbers that the sentence names; the entries have all of them."""


def verdict_sentence(measures: Sequence[Measure], snapshots: Sequence[str], snapshot: str, source: str) -> str:
    """The verdict as one sentence.

    Args:
        measures: the numbers of the snapshot.
        snapshots: the keys of those that it was compared with.
        snapshot: its key.
        source: name of the source, whose recipe may accept a new level.
    """
    wrong = sorted((each for each in measures if each.is_wrong), key=lambda each: not each.is_blocked)
    if wrong:
        more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        told = "; ".join(f"{each.name} {value_of(each)}, {expectation_in_words(each)}" for each in wrong[:_NAMED])
        mends = ["look at its raw data"]
        if any(not _share_over_snapshots(each) for each in wrong):
            mends.append(f"if this level is right, say accept={snapshot!r} in the recipe of source {source!r}")
        if any(each.is_blocked for each in wrong):
            mends.append("if a bound is too narrow, change bounds=")
        return f"{told}{more}; {'; or, '.join(mends)}"
    if len(snapshots) < LEAST:
        return f"no verdict: {_format_count(len(snapshots))} before it made by the same recipe, and {LEAST} are needed"
    sizes = ", ".join(f"{each.name} {value_of(each)}" for each in measures if each.kind == "size")
    return f"{sizes}: as in {', '.join(snapshots)}"


def plotted_entries(measures: Sequence[Measure], snapshots: Sequence[str]) -> dict[str, int | float | str]:
    """The numbers, which Dagster plots, each with what is expected of it; what is wrong first. Quantiles are words.

    Args:
        measures: the numbers of the snapshot.
        snapshots: the keys of those that it was compared with.
    """
    ordered = sorted(measures, key=lambda each: (not each.is_blocked, not each.is_wrong))
    found: dict[str, int | float | str] = {"compared with": ", ".join(snapshots) or "nothing"}
    for each in ordered:
        if each.kind == "quantile":
            found[each.name] = f"{value_of(each)}, {expectation_in_words(each)}"
        else:
            share = each.kind == "share"
            found[f"{each.name} (%)" if share else each.name] = percentage(each.value) if share else each.value
            found[f"{each.name}, expected"] = expectation_in_words(each)
    return found


def value_of(measure: Measure) -> str:
    """The value of a number in words."""
    return value_in_words(measure, measure.value)


def value_in_words(measure: Measure, value: float) -> str:
    """A value of a number's kind in words.

    Args:
        measure: the number.
        value: number to show.
    """
    return f"{value:.2%}" if measure.kind == "share" else short_number(value)


def expectation_in_words(measure: Measure) -> str:
    """The expectation of a number, in words."""
    said = [f"level {value_in_words(measure, measure.level)}"] if measure.level is not None else []
    if measure.kind == "size" and measure.level:
        said.append(f"{short_number(float(f'{measure.value / measure.level:.2g}'))} of it")
    for lead, least, most in (("expected", measure.least, measure.most), ("allowed", measure.floor, measure.ceiling)):
        low = (
            value_in_words(measure, max(least, 0.0) if measure.kind == "share" else least) if least > -math.inf else ""
        )
        high = value_in_words(measure, most) if most < math.inf else ""
        if low or high:
            said.append(f"{lead} {' to '.join(filter(None, (low, high)))}" if low else f"{lead} at most {high}")
    return ", ".join(said) or "no level yet"


def _share_over_snapshots(measure: Measure) -> bool:
    return measure.kind == "share" and measure.is_blocked


def _format_count(number: int) -> str:
    return "no snapshot" if not number else f"{number} snapshot{'s' if number > 1 else ''}"
