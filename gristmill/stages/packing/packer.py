"""Packing: which documents share an example of training, as Levanter fills them: in order, each until the next document
would not fit.

Source: marin-levanter 0.2, `levanter.data.packing.pack_documents` and `levanter.data.text.datasets`, whose
examples it is compared with.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.row_format import SEGMENTS, Format, Prebuilt, Slice, Text

Integers = npt.NDArray[np.int64]
Lengths = Sequence[Integers]
"""For each field, the elements of each of the same documents."""


class Rule(NamedTuple):
    """How documents are packed.

    Attributes:
        length: elements of an example, in each field.
        segments: documents in an example at the most.
        slice: what becomes of a document that is longer than an example.
    """

    length: int
    segments: int
    slice: Slice


@dataclass(frozen=True)
class Plan:
    """Which documents lie in which example. Documents between two examples were dropped.

    Attributes:
        rule: how it was made.
        first: (examples,), the first document of each.
        count: (examples,), how many documents follow each other in it. A document that is too long is alone in its
            example, cut as the rule says.
    """

    rule: Rule
    first: Integers
    count: Integers

    def __len__(self) -> int:
        """Examples."""
        return len(self.first)


def rule_of(form: Format, length: int) -> Rule | None:
    """How a format's documents are packed; None if they are not: text is cut as one stream, prebuilt rows are examples.

    Raises:
        RecipeError: the length is none.
    """
    if length < 1:
        raise RecipeError(f"examples of {length} tokens: give 1 or more")
    if isinstance(form, Prebuilt) or (isinstance(form, Text) and not form.pack):
        return None
    if form.pack is False:
        return Rule(length, 1, "raise")
    segments = SEGMENTS if form.pack is None or form.pack is True else form.pack
    return Rule(length, segments, form.slice_strategy)


def plan(lengths: Iterable[Lengths], rule: Rule) -> Plan:
    """The plan of documents, given in blocks; holds one block and the plan itself (16 bytes an example).

    Raises:
        DataError: a document is longer than an example, and the rule says `raise`.
    """
    found = [(first, count) for first, count, _ in packs(lengths, rule)]
    empty = np.empty(0, np.int64)
    firsts, counts = [first for first, _ in found], [count for _, count in found]
    return Plan(rule, np.concatenate([empty, *firsts]), np.concatenate([empty, *counts]))


def packs(lengths: Iterable[Lengths], rule: Rule) -> Iterator[tuple[Integers, Integers, Integers]]:
    """First document, documents and elements of the first field of the examples, block by block.

    The last example of a block stays open until the next block has shown what else fits into it.

    Raises:
        DataError: see plan().
    """
    begin = 0
    rest: Lengths | None = None
    for block in lengths:
        whole = block if rest is None else [np.concatenate(pair) for pair in zip(rest, block, strict=True)]
        ends = _ends(whole, rule, begin)
        starts = _chain(ends)
        if len(starts) == 0:
            continue
        kept = int(starts[-1])  # the last example goes to the documents' end: more may fit
        yield _closed(whole, starts[:-1], ends, rule, begin)
        rest, begin = [each[kept:] for each in whole], begin + kept
    if rest is not None:
        yield _closed(rest, np.zeros(1, np.int64), np.array([len(rest[0])]), rule, begin)


def _ends(lengths: Lengths, rule: Rule, begin: int) -> Integers:
    """Behind which document an example ends that begins at each of them."""
    count = len(lengths[0])
    ends = np.arange(count, dtype=np.int64) + rule.segments
    for each in lengths:
        bounds = np.concatenate(([0], np.cumsum(each, dtype=np.int64)))
        np.minimum(ends, np.searchsorted(bounds, bounds[:-1] + rule.length, "right") - 1, out=ends)
    alone = np.arange(1, count + 1, dtype=np.int64)
    if rule.slice == "raise" and (ends < alone).any():
        number = int(np.argmax(ends < alone))
        raise DataError(
            f"document {begin + number}: {max(int(each[number]) for each in lengths)} tokens, an example has"
            f" {rule.length}: take longer examples, or another slice_strategy (with pack: false there is none)"
        )
    return np.maximum(ends, alone, out=ends)


def _chain(ends: Integers) -> Integers:
    """The documents at which examples begin, from the first on."""
    hops = ends.tolist()
    starts: list[int] = []
    at = 0
    while at < len(hops):
        starts.append(at)
        at = hops[at]
    return np.array(starts, np.int64)


def _closed(
    lengths: Lengths, starts: Integers, ends: Integers, rule: Rule, begin: int
) -> tuple[Integers, Integers, Integers]:
    """The examples that begin there: without the documents that are dropped."""
    if rule.slice == "drop":
        fits = np.ones(len(starts), np.bool_)
        for each in lengths:
            fits &= each[starts] <= rule.length
        starts = starts[fits]
    bounds = np.concatenate(([0], np.cumsum(lengths[0], dtype=np.int64)))
    elements = np.minimum(bounds[ends[starts]] - bounds[starts], rule.length)
    return starts + begin, ends[starts] - starts, elements
