"""Packing: choose which whole documents share a training example, in the way Levanter does.

Documents are taken in order. Each example takes documents until the next one would not fit.

Source: marin-levanter 0.2, `levanter.data.packing.pack_documents` and `levanter.data.text.datasets`. Our tests compare
our examples with theirs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.row_format import SEGMENTS, Format, Prebuilt, Slice

Integers = npt.NDArray[np.int64]
Lengths = Sequence[Integers]
"""One array per field, each of shape (documents,): the number of elements of each document in that field."""


class PackingRule(NamedTuple):
    """How documents are packed.

    Attributes:
        length: elements of one example, in each field.
        segments: the largest number of documents in one example.
        slice: choice for a document that is longer than one example.
    """

    length: int
    segments: int
    slice: Slice


@dataclass(frozen=True)
class Packing:
    """Which documents each example holds. Documents that no example holds were dropped.

    Attributes:
        rule: the rule that made the plan.
        first: (examples,) int64: the number of the first document of each example.
        count: (examples,) int64: how many consecutive documents each example holds. A document that is too long is
            the only one of its example; the rule says which end is cut off.

    `len(plan)` is the number of examples.
    """

    rule: PackingRule
    first: Integers
    count: Integers

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.first)


def refuse_misfit_plan(packing: Packing, documents: int, path: str) -> None:
    """Refuses a plan that the packer cannot have made for a split.

    Args:
        packing: the plan.
        documents: number of documents of the split.
        path: path of the plan or the split, for the message.

    Raises:
        DataError: its columns are not int64 of one length, or an example has no document, too many, or one that the
            split does not have or an earlier example holds.
    """
    first, count = packing.first, packing.count
    if not (first.dtype == count.dtype == np.int64 and first.ndim == count.ndim == 1 and len(first) == len(count)):
        raise DataError(f"{path}: the columns of the plan are not two arrays of int64 of one length; plan it again")
    most = min(packing.rule.segments, documents)
    wrong = (first < 0) | (first > documents) | (count < 1) | (count > most)
    ends = np.where(wrong, 0, first) + np.where(wrong, 0, count)  # no sum of these overflows
    wrong |= ends > documents
    wrong[1:] |= first[1:] < ends[:-1]
    if wrong.any():
        number = int(np.argmax(wrong))
        raise DataError(
            f"{path}: example {number} has {count[number]} documents from document {first[number]}, which does not fit"
            f" the {documents} documents of the split; plan it again"
        )


def packing_rule_of_format(form: Format, length: int) -> PackingRule | None:
    """The packing rule of a format.

    Args:
        form: the format of the rows.
        length: tokens of one example.

    Returns:
        The rule, or None if documents of this format are not packed. Such text is cut as one stream. Prebuilt rows
        already are examples.

    Raises:
        RecipeError: the length is less than 1.

    Example:
        >>> from gristmill.recipes.row_format import Text
        >>> packing_rule_of_format(Text(pack=8), 4096)
        PackingRule(length=4096, segments=8, slice='left')
        >>> packing_rule_of_format(Text(), 4096) is None
        True
    """
    if length < 1:
        raise RecipeError(f"examples of {length} tokens: give a length of 1 or more")
    if isinstance(form, Prebuilt) or not form.packs:
        return None
    if form.pack is False:
        return PackingRule(length, 1, "raise")
    segments = SEGMENTS if form.pack is None or form.pack is True else form.pack
    return PackingRule(length, segments, form.slice_strategy)


def pack_documents(lengths: Iterable[Lengths], rule: PackingRule, path: str = "documents") -> Packing:
    """Packs all documents of a split.

    Memory holds one block and the plan itself (16 bytes per example).

    Args:
        lengths: the length of each document, in blocks of consecutive documents.
        rule: rule of the packing.
        path: path of the split, for messages.

    Returns:
        The plan. Document 0 is the first document of the first block.

    Raises:
        DataError: a document is longer than one example, and the rule says `raise`.

    Example:
        Five documents in two blocks, with one field. 4 + 4 + 2 tokens fill the first example; 5 + 3 are the second.

        >>> blocks = [[np.array([4, 4, 2])], [np.array([5, 3])]]
        >>> made = pack_documents(blocks, PackingRule(length=10, segments=64, slice="left"))
        >>> made.first.tolist(), made.count.tolist()
        ([0, 3], [3, 2])
    """
    blocks = [(first, count) for first, count, _ in pack_blocks(lengths, rule, path)]
    empty = np.empty(0, np.int64)
    firsts, counts = [first for first, _ in blocks], [count for _, count in blocks]
    return Packing(rule, np.concatenate([empty, *firsts]), np.concatenate([empty, *counts]))


def pack_blocks(
    lengths: Iterable[Lengths], rule: PackingRule, path: str = "documents"
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Packs documents block by block; `plan` joins the result.

    The last example of a block stays open until the next block shows which documents still fit into it.

    Args:
        lengths: length of each document, as for `plan`.
        rule: rule of the packing.
        path: path of the split, for messages.

    Returns:
        An iterator. Each item has three int64 arrays of shape (examples,): the first document of each example, its
        number of documents, and its number of elements in the first field.

    Raises:
        DataError: as for `plan`.

    Example:
        >>> blocks = pack_blocks([[np.array([6, 5, 4])]], PackingRule(10, 64, "left"))
        >>> [[column.tolist() for column in block] for block in blocks]
        [[[0], [1], [6]], [[1], [2], [9]]]
    """
    begin = 0
    rest: Lengths | None = None
    for block in lengths:
        whole = block if rest is None else [np.concatenate(pair) for pair in zip(rest, block, strict=True)]
        ends = _example_ends(whole, rule, begin, path)
        starts = _example_starts(ends)
        if len(starts) == 0:
            continue
        kept = int(starts[-1])  # the last example stays open: documents of the next block may fit into it
        yield _packed_examples(whole, starts[:-1], ends, rule, begin)
        rest, begin = [field[kept:] for field in whole], begin + kept
    if rest is not None:
        yield _packed_examples(rest, np.zeros(1, np.int64), np.array([len(rest[0])]), rule, begin)


def _example_ends(lengths: Lengths, rule: PackingRule, begin: int, path: str) -> Integers:
    """For each document: if an example began with it, the number of the first document after that example."""
    count = len(lengths[0])
    ends = np.arange(count, dtype=np.int64) + rule.segments
    for field in lengths:
        bounds = np.concatenate(([0], np.cumsum(field, dtype=np.int64)))
        np.minimum(ends, np.searchsorted(bounds, bounds[:-1] + rule.length, "right") - 1, out=ends)
    alone = np.arange(1, count + 1, dtype=np.int64)
    if rule.slice == "raise" and (ends < alone).any():
        number = int(np.argmax(ends < alone))
        raise DataError(
            f"{path}: document {begin + number}: {max(int(field[number]) for field in lengths)} tokens, but an example"
            f" has {rule.length}: take longer examples, or another slice_strategy (pack: false allows none)"
        )
    return np.maximum(ends, alone, out=ends)


def _example_starts(ends: Integers) -> Integers:
    """The documents at which examples begin, if the first example begins at document 0."""
    next_start = ends.tolist()
    starts: list[int] = []
    document = 0
    while document < len(next_start):
        starts.append(document)
        document = next_start[document]
    return np.array(starts, np.int64)


def _packed_examples(
    lengths: Lengths, starts: Integers, ends: Integers, rule: PackingRule, begin: int
) -> tuple[Integers, Integers, Integers]:
    """The examples that begin at `starts`, in the form that `packs` yields; without documents that are dropped."""
    if rule.slice == "drop":
        fits = np.ones(len(starts), np.bool_)
        for field in lengths:
            fits &= field[starts] <= rule.length
        starts = starts[fits]
    bounds = np.concatenate(([0], np.cumsum(lengths[0], dtype=np.int64)))
    elements = np.minimum(bounds[ends[starts]] - bounds[starts], rule.length)
    return starts + begin, ends[starts] - starts, elements
