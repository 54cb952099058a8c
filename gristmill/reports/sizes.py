"""Sizes and numbers for people."""

_UNITS = ("kB", "MB", "GB", "TB", "PB")


def size_in_words(size: int) -> str:
    """A number of bytes in the largest unit of which there is at least one; units are powers of 1,000.

    Args:
        size: number of bytes; below 0 for what becomes less.

    >>> [size_in_words(size) for size in (1, 999, 1_000, 31_488_381, 2_500_000_000_000_000_000, -2_000)]
    ['1 byte', '999 bytes', '1.0 kB', '31.5 MB', '2,500.0 PB', '-2.0 kB']
    """
    if size < 0:
        return f"-{size_in_words(-size)}"
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    amount, unit = float(size), ""
    for unit in _UNITS:  # noqa: B007 - the last one is used
        amount /= 1000
        if amount < 999.95:
            break
    return f"{amount:,.1f} {unit}"


def percentage(part: float, whole: float = 1) -> float:
    """A share as a number from 0 to 100, with four digits. What shows it has a name that ends with `(%)`.

    Args:
        part: the part, or the share as a number from 0 to 1.
        whole: number that it is a part of; a part of nothing is 0.

    >>> percentage(1, 9), percentage(0.5), percentage(2, 300_000), percentage(0, 0)
    (11.11, 50.0, 0.0006667, 0.0)
    """
    return float(f"{100 * part / whole:.4g}") if whole else 0.0


def number_and_noun(number: int, noun: str) -> str:
    """A number and a noun.

    Args:
        number: number to show.
        noun: one of them; its plural ends with an additional s.

    >>> number_and_noun(1, "partition"), number_and_noun(2_000, "partition")
    ('1 partition', '2,000 partitions')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
