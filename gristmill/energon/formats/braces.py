"""Lists of shard names with braces: `shards/{000..003}.tar` names four shards.

Source: NVIDIA/Megatron-Energon 7.4.1, which expands with the package `braceexpand`.
"""

import re
import string
from collections.abc import Iterable, Sequence
from typing import Final

from gristmill.errors import DataError

_NUMBER: Final = re.compile(r"([0-9]+)")
_NUMBERS: Final = re.compile(r"(-?[0-9]{1,99})\.\.(-?[0-9]{1,99})(?:\.\.-?([0-9]{1,99}))?")
_LETTERS: Final = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.-?([0-9]+))?")
_ALPHABET: Final = string.ascii_uppercase + string.ascii_lowercase
_ESCAPED: Final = re.compile(r"\\(.)")
_MOST = 1_000_000
_DEEPEST = 50


def collapse_names(names: Sequence[str]) -> list[str]:
    """The names with runs written as ranges; their order stays.

    A run is made of neighbours that differ in one number only, which has the same width and goes up by 1.

    Args:
        names: names of shards.

    >>> collapse_names(["a/0.tar", "a/1.tar", "a/2.tar", "b.tar", "a/9.tar", "a/10.tar"])
    ['a/{0..2}.tar', 'b.tar', 'a/9.tar', 'a/10.tar']
    """
    result: list[str] = []
    run: list[list[str]] = []
    place: int | None = None
    for name in names:
        pieces = _NUMBER.split(name)
        step = _counting_digit_place(run[-1], pieces) if run else None
        if step is not None and place in {None, step}:
            place = step
        elif run:
            result.append(_format_number_range(run, place))
            run, place = [], None
        run.append(pieces)
    return [*result, _format_number_range(run, place)] if run else result


def _counting_digit_place(before: list[str], after: list[str]) -> int | None:
    """The place of the one number that goes up by 1 from a name to the next; None if they differ otherwise."""
    if len(before) != len(after):
        return None
    places = [place for place, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    if len(places) != 1 or not places[0] % 2:
        return None
    low, high = before[places[0]], after[places[0]]
    return places[0] if len(low) == len(high) and int(low) + 1 == int(high) else None


def _format_number_range(run: list[list[str]], place: int | None) -> str:
    if place is None:
        return "".join(run[0])
    return "".join((*run[0][:place], f"{{{run[0][place]}..{run[-1][place]}}}", *run[0][place + 1 :]))


def expand_pattern(pattern: str) -> list[str]:
    r"""The names of a pattern: `{a,b}`, `{01..12}`, `{a..e}`, nested, as a shell expands them.

    Args:
        pattern: the pattern.

    Raises:
        DataError: a brace is not closed, or the pattern has more than a million names.

    >>> expand_pattern("s/{08..10}.tar"), expand_pattern("{a,b{1,2}}.tar"), expand_pattern(r"a\{b")
    (['s/08.tar', 's/09.tar', 's/10.tar'], ['a.tar', 'b1.tar', 'b2.tar'], ['a{b'])
    """
    if pattern.count("{") > _DEEPEST:
        raise DataError(f"{pattern!r:.200} has more than {_DEEPEST} braces; name the shards one by one")
    return [_ESCAPED.sub(r"\1", name) for name in _expand_names(pattern, pattern)]


def expand_patterns(patterns: Iterable[str]) -> list[str]:
    """The names of all patterns, in order.

    Raises:
        DataError: as `expand`; or all patterns together have more than a million names.
    """
    names: list[str] = []
    for pattern in patterns:
        names += expand_pattern(pattern)
        if len(names) > _MOST:
            raise DataError(f"the names up to {pattern!r:.200} are more than {_MOST}; name fewer shards")
    return names


def _expand_names(text: str, whole: str) -> list[str]:
    """The names of a part of a pattern, their escapes still in them."""
    found = [""]
    start = place = 0
    while place < len(text):
        if text[place] == "}":
            raise DataError(f"{whole!r:.200}: a brace is closed that was not opened; mend the pattern")
        if text[place] == "{":
            end = _closing_brace_place(text, place, whole)
            found = _combine_names(found, [text[start:place]], whole)
            found = _combine_names(found, _expand_brace_content(text[place + 1 : end], whole), whole)
            start = place = end + 1
        else:
            place += 2 if text[place] == "\\" else 1
    return _combine_names(found, [text[start:]], whole)


def _combine_names(heads: list[str], tails: list[str], whole: str) -> list[str]:
    if len(heads) * len(tails) > _MOST:
        raise DataError(f"{whole!r:.200} has more than {_MOST} names; name fewer shards")
    return [head + tail for head in heads for tail in tails]


def _closing_brace_place(text: str, start: int, whole: str) -> int:
    """The place of the brace that closes the one at `start`."""
    depth, place = 0, start
    while place < len(text):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
        place += 2 if text[place] == "\\" else 1
    raise DataError(f"{whole!r:.200}: a brace is not closed; mend the pattern")


def _expand_brace_content(text: str, whole: str) -> list[str]:
    """The names of what is between two braces: a range, a list, or neither."""
    numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
    if numbers:
        padded = any(re.match("-?0.", end) for end in numbers.group(1, 2))
        width = max(map(len, numbers.group(1, 2))) if padded else 0
        span = _inclusive_range(int(numbers[1]), int(numbers[2]), numbers[3])
        if len(span) > _MOST:
            raise DataError(f"{whole!r:.200} has more than {_MOST} names; name fewer shards")
        return [f"{number:0{width}d}" for number in span]
    if letters:
        return [
            _ALPHABET[n] for n in _inclusive_range(_ALPHABET.index(letters[1]), _ALPHABET.index(letters[2]), letters[3])
        ]
    pieces = _split_at_commas(text, whole)
    if len(pieces) == 1:
        return [f"{{{name}}}" for name in _expand_names(text, whole)]
    return [name for piece in pieces for name in _expand_names(piece, whole)]


def _inclusive_range(first: int, last: int, step: str | None) -> range:
    """From the first to the last, both included, upwards or downwards."""
    by = int(step or 1) or 1
    return range(first, last + 1, by) if first < last else range(first, last - 1, -by)


def _split_at_commas(text: str, whole: str) -> list[str]:
    """The pieces between the commas that are in no inner braces."""
    pieces: list[str] = []
    start = place = 0
    while place < len(text):
        if text[place] == ",":
            pieces.append(text[start:place])
            start = place + 1
        if text[place] == "{":
            place = _closing_brace_place(text, place, whole)
        place += 2 if text[place] == "\\" else 1
    return [*pieces, text[start:]]
