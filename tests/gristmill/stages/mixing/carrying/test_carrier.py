"""What is carried of the labels of one row, and what is counted."""

import pytest

from gristmill.errors import DataError
from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.carrying.carrier import Carrier, CarrySpec

EMAIL = Edit(spans="pii-1__email", replacement="E").parameters()
TEXT = "write me@x to be or not"


def test_spans_move_with_the_edits_and_scores_stay_behind() -> None:
    carrier = Carrier(CarrySpec((EMAIL,), kinds={"word": "spans", "whole": "spans", "count*": "score"}))
    labels = {
        "word": [(0, 5, 1.0), (6, 10, 1.0), (14, 16, 0.5)],
        "whole": [(0, 23, 1.0)],
        "counts": [(0, 23, 6.0)],
        "count": [],
    }
    carried = carrier.carry_labels(TEXT, "write E to be or not", [[(6, 10, 1.0)]], labels)
    assert carried == {"word": [(0, 5, 1.0), (11, 13, 0.5)], "whole": []}
    assert carrier.counts == {
        "spans carried": 2,
        "spans dropped: touched by an edit": 2,
        "scores of documents, which are not carried": 2,
    }


def test_the_one_span_of_an_undeclared_label_over_the_whole_text_is_a_score() -> None:
    carrier = Carrier(CarrySpec(()))
    labels = {"a": [(0, 4, 0.5)], "b": [(0, 4, 0.5), (0, 4, 0.7)], "c": [(0, 3, 1.0)], "d": []}
    assert carrier.carry_labels("to b", "to b", [], labels) == {k: v for k, v in labels.items() if k != "a"}


def test_transforms_keep_the_spans_of_what_stayed() -> None:
    carrier = Carrier(CarrySpec((EMAIL,), transforms=True, kinds={}))
    labels = {"word": [(0, 5, 1.0), (14, 16, 1.0), (20, 23, 1.0)]}
    carried = carrier.carry_labels(TEXT, "WRITE E to be or not", [[(6, 10, 1.0)]], labels)
    assert carried == {"word": [(11, 13, 1.0), (17, 20, 1.0)]}
    assert carrier.counts["spans dropped: changed by a transform"] == 1


def test_another_text_than_that_of_the_edits_and_a_span_outside_are_errors() -> None:
    carrier = Carrier(CarrySpec((EMAIL,)))
    with pytest.raises(DataError, match="not the one that the edits of its recipe give"):
        carrier.carry_labels(TEXT, "write F to be or not", [[(6, 10, 1.0)]], {})
    with pytest.raises(DataError, match=r"word has a span \[20, 24\), but the text has 23"):
        carrier.carry_labels(TEXT, TEXT, [None], {"word": [(20, 24, 1.0)]})
