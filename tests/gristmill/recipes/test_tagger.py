from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panics import panic

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.attribute import encode_row, written_spans
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Score, Spans, Tagger, TaggerFailed


def silent(_: Document) -> dict[str, Any]:
    return {}


def test_a_tagger_needs_a_number_and_one_function() -> None:
    with pytest.raises(RecipeError, match="must end in its number"):
        Tagger(name="words", document=silent)
    with pytest.raises(RecipeError, match="exactly one of document=, batch= and open="):
        Tagger(name="words-1")
    with pytest.raises(RecipeError, match="exactly one of document=, batch= and open="):
        Tagger(name="words-1", document=silent, batch=lambda documents: {"a": [None] * len(documents)})


def test_a_document_on_which_a_tagger_panics_is_named() -> None:
    def look(document: Document) -> dict[str, Any]:
        if document.id == "b":
            panic()
        return {}

    documents = [Document(name, "text", "tales") for name in "abc"]
    with pytest.raises(TaggerFailed, match="PanicException: Onig") as failed:
        Tagger(name="words-1", document=look).look(documents)
    assert failed.value.number == 1
    with pytest.raises(KeyboardInterrupt):
        Tagger(name="words-1", document=_interrupt).look(documents)


def _interrupt(_: Document) -> dict[str, Any]:
    raise KeyboardInterrupt


SHARE = Score("share", "share of capitals", low=0, high=1)
WORDS = Spans("words", "each word in capitals")
TWO = [Document("a", "one", "tales"), Document("b", "two two", "tales")]


def test_labels_are_declared_by_name_with_a_meaning() -> None:
    tagger = Tagger(name="loud-1", document=silent, labels=(SHARE, WORDS))
    assert tagger.declared == {"share": SHARE, "words": WORDS}
    assert [(label.kind, label.low, label.high) for label in tagger.declared.values()] == [
        ("score", 0, 1),
        ("spans", None, None),
    ]
    assert Tagger(name="loud-1", document=silent).declared is None
    assert Tagger(name="loud-1", document=silent, labels=()).declared == {}


def test_a_declaration_is_no_part_of_the_recipe() -> None:
    bare = Tagger(name="loud-1", document=silent, parameters={"least": 2})
    assert replace(bare, labels=(SHARE,)).recipe.digest == bare.recipe.digest == replace(bare, labels=()).recipe.digest


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: Score("word count", "words"), "label 'word count': give a name without white space"),
        (lambda: Score("", "words"), "give a name without white space"),
        (lambda: Score("words", " "), r"say what it means, such as Score\('words', 'share of ...'\)"),
        (lambda: Spans("words", ""), r"say what it means, such as Spans\('words'"),
        (lambda: Score("words", "words", low=1, high=0), "low is 1 and high is 0; give finite numbers, the lower"),
        (lambda: Score("words", "words", high=float("inf")), "high is inf; give a finite number"),
        (lambda: Score("words", "words", low="0"), "low is '0'"),  # type: ignore[arg-type]
        (lambda: Score("words", "words", optional="yes"), "optional is 'yes'"),  # type: ignore[arg-type]
        (lambda: Tagger(name="a-1", document=silent, labels=(SHARE, SHARE)), "'a-1': label 'share' is declared twice"),
        (lambda: Tagger(name="a-1", document=silent, labels=("share",)), "give a tuple of Score"),  # type: ignore[arg-type]
        (lambda: Tagger(name="a-1", document=silent, labels=SHARE), "give a tuple of Score"),  # type: ignore[arg-type]
        (
            lambda: Tagger(name="a-1", document=silent, labels=(Score("a-1__share", "share"),)),
            "label 'a-1__share': leave out the name of the set",
        ),
        (
            lambda: Tagger(name="a-1", document=silent, only="wiki"),
            "only is 'wiki'; give a set of strings, such as {'wiki'}",
        ),
        (lambda: Tagger(name="a-1", document=silent, only=[1]), r"only is \[1\]"),  # type: ignore[list-item]
    ],
)
def test_a_declaration_that_is_not_sound_is_refused(declare: Callable[[], object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        declare()


RETURNED: list[tuple[Any, str]] = [
    (True, r"document= returned True \(bool\); return a mapping from names to labels"),
    (7, r"returned 7 \(int\)"),
    (None, "returned None"),
    ("share", r"returned 'share' \(str\)"),
    ([("share", 1.0)], r"\(list\)"),
    ({"word count": 1.0}, "label 'word count': a label's name is a string without white space"),
    ({7: 1.0}, "label 7: a label's name is a string"),
    ({"share": 1.0, "wrods": []}, "label 'wrods' is not in its labels=; did you mean 'words'\\? known: words, share"),
    ({"share": [Span(0, 1, 1.0)], "words": []}, "label 'share': a list of 1 spans, and it is declared as a Score"),
    ({"share": 0.5, "words": 1.0}, "label 'words': 1.0 is not a list of spans"),
    ({"share": 1.5, "words": []}, "label 'share': 1.5 is above 1.0"),
    ({"share": None, "words": []}, "label 'share': it is missing, and it is not declared optional=True"),
    ({"share": 0.5}, "label 'words': it is missing"),
    ({"share": 0.5, "words": [Span(0, 8, 1.0)]}, r"label 'words': a span \[0, 8\) in a text of 7 characters"),
]


@pytest.mark.parametrize(("returned", "words"), RETURNED)
def test_a_result_for_one_document_is_checked(returned: Any, words: str) -> None:
    good: Any = {"share": 0.5, "words": []}
    tagger = Tagger(name="loud-1", document=lambda each: returned if each.id == "b" else good, labels=(SHARE, WORDS))
    with pytest.raises(TaggerFailed, match=words) as failed:
        tagger.look(TWO)
    assert failed.value.number == 1
    assert tagger.look(TWO[:1]) == {"share": [0.5], "words": [[]]}


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (True, r"tagger 'loud-1': batch= returned True \(bool\); return a mapping from names to lists of labels"),
        ([0.5, 0.5], r"batch= returned \[0.5, 0.5\] \(list\)"),
        ({"share": "ab"}, r"label 'share' is 'ab' \(str\); return a list of one label for each document"),
        ({"share": 0.5}, r"label 'share' is 0.5 \(float\)"),
        ({"share": {0: 0.5, 1: 0.5}}, "return a list of one label"),
        ({"share": [0.5]}, "tagger 'loud-1': 1 labels 'share' for 2 documents"),
        ({"a share": [0.5, 0.5]}, "tagger 'loud-1': label 'a share': a label's name"),
        ({"share": [0.5, 1.5]}, "label 'share': 1.5 is above 1.0"),
        ({"share": np.array([0.5, 1.5])}, "label 'share': 1.5 is above 1.0"),
        ({"share": np.array([0.5, np.nan])}, "label 'share': a score of nan"),
        ({"share": np.array([np.inf, 0.5], np.float32)}, "label 'share': a score of inf"),
        ({"share": np.array([0.5])}, "tagger 'loud-1': 1 labels 'share' for 2 documents"),
        ({"share": np.array(0.5)}, r"label 'share' is an array of shape \(\); return one of shape \(2,\)"),
        ({"share": np.array([[0.5], [0.5]])}, r"label 'share' is an array of shape \(2, 1\)"),
        ({"share": np.array(["a", "b"])}, "label 'share': 'a' is not a number"),
        ({"share": np.array([0.5, 1j])}, "label 'share': 0.5\\+0j|is not a number"),
        ({"share": np.array([0.5, None])}, "label 'share': it is missing"),
        ({"share": np.ma.MaskedArray([0.5, 0.5], [False, True])}, "label 'share': it is missing"),
        ({"shore": [0.5, 0.5]}, "label 'shore' is not in its labels=; did you mean 'share'"),
        ({}, "label 'share' is missing, and it is not declared optional=True"),
    ],
)
def test_a_result_for_a_batch_is_checked(returned: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Tagger(name="loud-1", batch=lambda _: returned, labels=(SHARE,)).look(TWO)


def test_an_array_is_as_good_as_a_list_and_an_optional_label_may_be_missing() -> None:
    array: Any = {"share": np.array([0.25, 0.5])}
    declared = (SHARE, replace(WORDS, optional=True))
    tagger = Tagger(name="loud-1", batch=lambda _: array, labels=declared)
    assert tagger.look(TWO) == {"share": [0.25, 0.5]}
    assert Tagger(name="loud-1", batch=lambda _: {}, labels=(SHARE,)).look([]) == {}


def test_what_is_masked_is_not_compared() -> None:
    masked: Any = {"share": np.ma.MaskedArray([np.nan, 0.5], [True, False])}
    tagger = Tagger(name="loud-1", batch=lambda _: masked, labels=(replace(SHARE, optional=True),))
    assert tagger.look(TWO) == {"share": [None, 0.5]}


def test_columns_of_numbers_stay_arrays_of_their_own() -> None:
    given: Any = {"share": np.array([0.25, 0.5], np.float32), "words": [[], []]}
    found = Tagger(name="loud-1", batch=lambda _: given, labels=(SHARE, WORDS)).columns(TWO)
    share = found["share"]
    assert isinstance(share, np.ndarray)
    assert (str(share.dtype), share.tolist(), found["words"]) == ("float64", [0.25, 0.5], [[], []])
    given["share"][0] = 0.75
    assert share[0] == 0.25


def test_a_tagger_without_a_declaration_may_give_any_label() -> None:
    tagger = Tagger(name="loud-1", document=lambda each: {each.id: 9.0, "first": [Span(0, 1, 7.0)]})
    assert tagger.look(TWO) == {"a": [9.0, None], "b": [None, 9.0], "first": [[(0, 1, 7.0)]] * 2}


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["share", "words", 7]), inner, max_size=3)
        | st.tuples(inner, inner, inner)
    ),
    max_leaves=8,
)


@given(ODD, st.booleans())
def test_whatever_a_tagger_returns_is_written_or_is_a_data_error(returned: Any, declares: bool) -> None:  # noqa: FBT001
    labels = (SHARE, WORDS) if declares else None
    for tagger in (
        Tagger(name="loud-1", document=lambda _: returned, labels=labels),
        Tagger(name="loud-1", batch=lambda _: returned, labels=labels),
    ):
        try:
            found = tagger.look(TWO)
        except DataError:
            continue
        for values in found.values():
            for value in values:
                spans = value if isinstance(value, list) else [] if value is None else [(0, 1, value)]
                assert encode_row("a", "tales", {"loud-1__x": written_spans(spans)})


def test_a_name_with_a_star_stands_for_all_labels_that_begin_so() -> None:
    labels = (Score("tiny", "small", high=1), Spans("lang_*", "lines", optional=True, exact=True))
    tagger = Tagger(name="x-1", document=lambda _: {"tiny": 0.5, "lang_en": [Span(0, 1, 0.5)]}, labels=labels)
    assert tagger.look([Document(id="a", text="b", source="s")]) == {"lang_en": [[(0, 1, 0.5)]], "tiny": [0.5]}
    assert (tagger.declaration("lang_en"), tagger.declaration("langen")) == (labels[1], None)
    assert (tagger.is_exact("lang_en"), tagger.is_exact("tiny"), tagger.is_exact("other")) == (True, False, False)
    other = Tagger(name="x-1", document=lambda _: {"tiny": 0.5, "other": 1.0}, labels=labels)
    with pytest.raises(TaggerFailed, match=r"label 'other' is not in its labels=; .*lang_\*"):
        other.look([Document(id="a", text="b", source="s")])
    assert tagger.recipe.parameters == {"exact": ["lang_*"]}  # it changes the bytes
    with pytest.raises(RecipeError, match=r"label 'lang_\*' may be any number of labels.*optional=True"):
        Spans("lang_*", "lines")


def test_only_may_name_all_sources_that_begin_so() -> None:
    tagger = Tagger(name="x-1", document=lambda _: {}, labels=(), only=frozenset({"oscar*", "pages"}))
    found = {name: tagger.applies_to(name) for name in ("oscar", "oscar-2301", "pages", "pages-2", "wiki")}
    assert [name for name, applies in found.items() if applies] == ["oscar", "oscar-2301", "pages"]
