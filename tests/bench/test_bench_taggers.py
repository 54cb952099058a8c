from itertools import islice

from bench.taggers.comparison import by_label, comparisons, renamed
from bench.taggers.corpus import documents, up_to
from bench.taggers.language import CLOSE, differences

STOCK = ["".join(f"line {n} of the first text\n" for n in range(400)), "a short text\n", "Zeilen und Wörter\n" * 300]


def test_the_first_documents_are_the_texts_cut_at_line_ends() -> None:
    whole = sorted(map(len, STOCK))
    first = "".join(islice(documents(STOCK, 1), 200))
    assert all(text in first for text in STOCK)
    assert sum(whole) < len(first)


def test_documents_are_the_same_for_one_seed_and_repeats_are_edited() -> None:
    some = list(islice(documents(STOCK, 7), 60))
    assert some == list(islice(documents(STOCK, 7), 60))
    assert some != list(islice(documents(STOCK, 8), 60))
    assert len(set(some)) > 40


def test_texts_are_taken_up_to_a_size_and_the_rest_is_left() -> None:
    texts = iter(["é" * 3, "b", "c"])
    assert list(up_to(texts, 7)) == ["é" * 3, "b"]
    assert list(texts) == ["c"]


def test_every_comparison_names_sets_and_peers() -> None:
    found = comparisons()
    assert {"gopher", "lengths", "rules"} <= found.keys()
    assert all(each.modules and each.sets and each.peer for each in found.values())


def test_labels_of_several_rows_are_compared_under_the_names_of_their_rows() -> None:
    rules = comparisons()["rules"]
    ours = {"lengths-1__runs": [[0, 9, 2.0]], "gopher-1__word_count": [[0, 9, 2.0]], "random-1__number": [[0, 9, 0.5]]}
    theirs = {"whitespace_tokenizer_v1__length": [[0, 9, 3.0]], "gopher_v1__word_count": [[0, 9, 2.0]]}
    both = {"lengths:lengths-1__runs": [[0, 9, 2.0]], "gopher:word_count": [[0, 9, 2.0]]}
    assert rules.ours(ours) == rules.theirs(theirs) == both


def test_labels_are_compared_by_name_or_by_new_names() -> None:
    assert by_label({"set-1__a": [[0, 1, 1.0]], "set-1__b": []}) == {"a": [[0, 1, 1.0]]}
    assert renamed({"x__length": "chars"})({"x__length": [[0, 1, 1.0]], "y": []}) == {"chars": [[0, 1, 1.0]]}


def test_a_label_that_one_side_lacks_is_a_difference_and_a_little_distance_is_none() -> None:
    ours = {"en": [0.5, None, 0.25], "de": [None, None, 0.5]}
    assert differences(ours, {"en": [0.5 + CLOSE / 2, None, 0.25], "de": [None, None, 0.5]}) == 0
    assert differences(ours, {"en": [0.5 + CLOSE * 2, 0.1, 0.25]}) == 3
    assert differences({}, {"fr": [None, 0.5]}) == differences({"fr": [None, 0.5]}, {}) == 1
