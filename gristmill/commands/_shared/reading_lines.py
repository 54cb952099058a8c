"""How training reads a mix, as lines of text."""

from collections.abc import Iterator

from gristmill.recipes.mixture.token_shares import Reading

_HEADINGS = ("stream", "tokens", "share", "read", "rate", "epochs")


def reading_lines(title: str, reading: Reading) -> Iterator[str]:
    """The lines: tokens, share, rate and epochs of each stream, warnings, and what is short.

    Args:
        title: names the mix, and where the tokens were counted.
        reading: how training reads the streams.
    """
    rows = [
        (
            each.stream,
            f"{each.tokens:,}",
            f"{each.share:.4g}",
            f"{each.read:,}",
            f"{each.rate:.3g}",
            f"{each.epochs:.3g}",
        )
        for each in reading.streams
    ]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    yield f"{title}: training reads {reading.total:,} tokens"
    for row in (_HEADINGS, *rows):
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([f"  {row[0].ljust(widths[0])}", *numbers])
    for warning in reading.warnings:
        yield f"  warning: {warning}"
    for shortage in reading.shortages:
        yield f"  the budget cannot be met: {shortage}"
