"""How training reads a mix, as lines of text."""

from collections.abc import Iterator

from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.token_shares import Reading, StreamReading


def reading_lines(title: str, mix: Mix, reading: Reading) -> Iterator[str]:
    """The lines: tokens, share, rate and epochs of each stream, what bounds them, warnings, and what is short.

    Args:
        title: description of the place where the tokens were counted.
        mix: the mix.
        reading: reading of the streams in training.
    """
    yield f"mix {mix.name}, {title}: {_total_reading_in_words(mix, reading)}"
    rows = [_stream_cells(each) for each in reading.streams]
    headings = tuple(rows[0])
    widths = {heading: max(len(heading), *(len(row[heading]) for row in rows)) for heading in headings}
    for row in ({heading: heading for heading in headings}, *rows):
        stream, *numbers = headings
        yield "  ".join(
            [f"  {row[stream].ljust(widths[stream])}", *(row[each].rjust(widths[each]) for each in numbers)]
        )
    if bounding := mix.bounding_streams(reading):
        streams, bound = ("stream", "bounds") if len(bounding) == 1 else ("streams", "bound")
        yield (
            f"  {streams} {' and '.join(map(repr, bounding))} {bound} it: more tokens in these shares would read it"
            " more often than it may be read; a larger most_epochs or a token_budget allows that"
        )
    for warning in reading.warnings:
        yield f"  warning: {warning}"
    for shortage in reading.shortage_sentences:
        yield f"  the budget cannot be met: {shortage}"


def _total_reading_in_words(mix: Mix, reading: Reading) -> str:
    """What training reads in total, in words."""
    if reading.total is None:
        return (
            f"how many tokens training reads is not known, because the documents of {', '.join(mix.packed_streams)}"
            " are packed into sequences; give the mix sequence_length="
        )
    words = f"training reads {reading.total:,} tokens"
    if reading.total_sequences is None:
        return words
    return f"{words} in {reading.total_sequences:,} sequences of {reading.sequence_length:,}"


def _stream_cells(each: StreamReading) -> dict[str, str]:
    """The cells of a stream, by their headings. An unknown value has no cell."""
    cells = {"stream": each.stream, "tokens": f"{each.tokens:,}"}
    if each.sequences is not None:
        cells |= {"sequences": f"{each.sequences:,}", "in them": f"{each.usable_tokens:,}"}
    if each.share is not None:
        cells["share"] = f"{each.share:.4g}" if each.tokens else "empty"
    if each.sequence_share is not None:
        cells["weight"] = f"{each.sequence_share:.4g}"
    if each.read is not None:
        cells["read"] = f"{each.read:,}"
    if each.rate is not None and each.epochs is not None:
        cells |= {"rate": f"{each.rate:.3g}", "epochs": f"{each.epochs:.3g}"}
    return cells
