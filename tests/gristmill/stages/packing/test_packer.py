import time
from itertools import pairwise

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.row_format import Chat, Format, Pack, Prebuilt, Slice, Text
from gristmill.stages.packing.packer import Lengths, Packing, PackingRule, pack_documents, packing_rule_of_format


def blocks_of(fields: list[list[int]], *cuts: int) -> list[Lengths]:
    """The fields' lengths, divided at these documents."""
    places = [0, *sorted(min(cut, len(fields[0])) for cut in cuts), len(fields[0])]
    return [[np.array(field[a:b], np.int64) for field in fields] for a, b in pairwise(places) if a < b]


def packed(lengths: list[int], length: int, segments: int = 64, slice_strategy: Slice = "left") -> list[list[int]]:
    """The documents of each example."""
    return examples(pack_documents(blocks_of([lengths]), PackingRule(length, segments, slice_strategy)))


def examples(made: Packing) -> list[list[int]]:
    return [list(range(a, a + n)) for a, n in zip(made.first.tolist(), made.count.tolist(), strict=True)]


def one_by_one(fields: list[list[int]], rule: PackingRule) -> list[list[int]]:
    """The same, as one would do it by hand: document after document."""
    found: list[list[int]] = []
    open_: list[int] = []

    def full(documents: list[int]) -> bool:
        return any(sum(field[d] for d in documents) > rule.length for field in fields)

    for document in range(len(fields[0])):
        if full([document]):
            found += [open_] if open_ else []
            found += [] if rule.slice == "drop" else [[document]]
            open_ = []
        elif full([*open_, document]) or len(open_) == rule.segments:
            found.append(open_)
            open_ = [document]
        else:
            open_.append(document)
    return found + ([open_] if open_ else [])


def test_documents_fill_an_example_in_order_until_the_next_would_not_fit() -> None:
    assert packed([4, 4, 2, 1, 9, 1, 1], 10) == [[0, 1, 2], [3, 4], [5, 6]]
    assert packed([6, 5, 4], 10) == [[0], [1, 2]]
    assert packed([], 10) == []


def test_no_example_has_more_documents_than_segments() -> None:
    assert packed([1] * 7, 10, segments=3) == [[0, 1, 2], [3, 4, 5], [6]]
    assert packed([0, 0, 0, 10], 10, segments=2) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("slice_strategy", ["left", "right"])
def test_a_document_that_is_too_long_is_alone(slice_strategy: Slice) -> None:
    assert packed([3, 11, 0, 30, 2], 10, slice_strategy=slice_strategy) == [[0], [1], [2], [3], [4]]


def test_a_document_that_is_dropped_ends_the_example_before_it() -> None:
    assert packed([3, 11, 2, 2, 12, 13], 10, slice_strategy="drop") == [[0], [2, 3]]
    assert packed([11, 12], 10, slice_strategy="drop") == []


def test_a_document_that_must_not_be_cut_is_an_error_that_numbers_it() -> None:
    with pytest.raises(DataError, match="document 3: 11 tokens, but an example has 10: take longer examples"):
        pack_documents(blocks_of([[3, 4, 5, 11, 12]], 2), PackingRule(10, 64, "raise"))
    assert packed([10, 10], 10, slice_strategy="raise") == [[0], [1]]


def test_every_field_must_fit() -> None:
    fields = [[1, 1, 1, 1], [1, 6, 5, 12]]
    assert examples(pack_documents(blocks_of(fields), PackingRule(10, 64, "left"))) == [[0, 1], [2], [3]]
    assert examples(pack_documents(blocks_of(fields), PackingRule(10, 64, "drop"))) == [[0, 1], [2]]
    with pytest.raises(DataError, match="document 3: 12 tokens"):
        pack_documents(blocks_of(fields), PackingRule(10, 64, "raise"))


@given(
    lengths=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=60),
    fields=st.integers(1, 2),
    segments=st.integers(1, 6),
    slice_strategy=st.sampled_from(["left", "right", "drop"]),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
@settings(max_examples=draws(150))
def test_the_plan_is_that_of_going_from_document_to_document_in_whatever_blocks_they_come(
    lengths: list[tuple[int, int]], fields: int, segments: int, slice_strategy: Slice, cuts: list[int]
) -> None:
    columns = [[each[field] for each in lengths] for field in range(fields)]
    rule = PackingRule(10, segments, slice_strategy)
    assert examples(pack_documents(blocks_of(columns, *cuts), rule)) == one_by_one(columns, rule)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (Text(), None),
        (Text(pack=False), None),
        (Text(pack=True), PackingRule(8, 64, "left")),
        (Text(pack=1), PackingRule(8, 1, "left")),
        (Chat(), PackingRule(8, 64, "left")),
        (Chat(pack=True, slice_strategy="drop"), PackingRule(8, 64, "drop")),
        (Chat(pack=5, slice_strategy="right"), PackingRule(8, 5, "right")),
        (Chat(pack=False, slice_strategy="left"), PackingRule(8, 1, "raise")),
        (Prebuilt(), None),
    ],
)
def test_how_a_format_is_packed(form: Format, expected: PackingRule | None) -> None:
    assert packing_rule_of_format(form, 8) == expected


@pytest.mark.parametrize("pack", [None, True])
def test_examples_have_a_token_at_least(pack: Pack) -> None:
    with pytest.raises(RecipeError, match="examples of 0 tokens: give a length of 1 or more"):
        packing_rule_of_format(Text(pack=pack), 0)


@pytest.mark.slow
def test_two_million_documents_are_packed_in_seconds() -> None:
    lengths = np.random.default_rng(7).lognormal(6, 1, 2_000_000).astype(np.int64)
    begun = time.process_time()
    made = pack_documents(
        ([lengths[at : at + 500_000]] for at in range(0, len(lengths), 500_000)), PackingRule(4096, 64, "left")
    )
    assert time.process_time() - begun < 4
    assert int(made.count.sum()) == len(lengths)
    assert made.first.tolist() == [0, *np.cumsum(made.count)[:-1].tolist()]
