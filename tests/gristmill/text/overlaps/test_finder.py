"""What is found, against a plain reference that compares each n-gram of each text with each of each item."""

import random
import re
from collections.abc import Sequence

import numpy as np
import pytest

from gristmill.text.overlaps import finder
from gristmill.text.overlaps.finder import label_of_lines, overlaps
from gristmill.text.overlaps.index import OverlapIndex
from gristmill.text.units.normalisation import normalise_text

LETTERS = "abzABÉéßİςΣжЖ"
LONE = "日本ก"
OTHERS = " \t\n.,\u2019\u2014\u00a0\u3000\u200b\x00-_'"


def plain_words(text: str) -> list[tuple[int, int, str]]:
    """Start, end and normalised form of each word, character by character."""
    found: list[tuple[int, int, str]] = []
    open_ = False
    for place, character in enumerate(text):
        form = normalise_text(character, "words-1")
        alone = bool(form) and len(normalise_text(character * 2, "words-1")) > 2
        if form and open_ and not alone:
            start, _, word = found[-1]
            found[-1] = (start, place + 1, word + form)
        elif form:
            found.append((place, place + 1, form))
        open_ = bool(form) and not alone
    return found


def plain_lines(text: str) -> list[list[tuple[int, int, str]]]:
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    words = plain_words(text)
    return [[word for word in words if a <= word[0] < b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def reference(items: Sequence[tuple[str, int, str]], text: str, length: int, least: int) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    words = plain_words(text)
    for name in dict.fromkeys(name for name, _, _ in items):
        first: dict[tuple[str, ...], int] = {}
        lines: dict[tuple[str, ...], int] = {}
        for its, number, item in items:
            if its == name:
                forms = [form for _, _, form in plain_words(item)]
                for at in range(len(forms) - length + 1):
                    first.setdefault(tuple(forms[at : at + length]), number)
                for line in plain_lines(item):
                    if len(line) >= max(least, 1):
                        lines.setdefault(tuple(form for _, _, form in line), number)
        spans: list[list[int]] = []
        for at in range(len(words) - length + 1):
            run = words[at : at + length]
            number = first.get(tuple(form for _, _, form in run), 0)
            before = [span for span in spans if span[2] == number]
            if number and before and run[0][0] <= before[-1][1]:
                before[-1][1] = run[-1][1]
            elif number:
                spans.append([run[0][0], run[-1][1], number])
        found[name] = sorted(spans)
        found[label_of_lines(name)] = [
            [line[0][0], line[-1][1], lines[tuple(form for _, _, form in line)]]
            for line in plain_lines(text)
            if line and tuple(form for _, _, form in line) in lines
        ]
    return found


def drawn(draw: random.Random, size: int) -> str:
    words = ["".join(draw.choices(LETTERS, k=draw.randrange(1, 3))) for _ in range(3)]
    parts = [draw.choice([*words, *LONE]) + draw.choice([*OTHERS, " ", " ", " ", "\n", ""]) for _ in range(size)]
    return "".join(parts)


def found_in(index: OverlapIndex, texts: Sequence[str]) -> list[dict[str, list[list[int]]]]:
    found = overlaps(index, texts)
    return [{label: spans[number].tolist() for label, spans in found.items()} for number in range(len(texts))]


@pytest.mark.parametrize("seed", range(12))
def test_all_overlaps_are_found_and_no_others(seed: int) -> None:
    draw = random.Random(seed)
    length, least = draw.choice([(2, 1), (3, 2), (5, 3), (13, 5)])
    items = [(draw.choice("pq"), number, drawn(draw, 20)) for number in range(1, 7)]
    texts = [drawn(draw, draw.randrange(40)) for _ in range(6)]
    texts += [drawn(draw, 9) + "\n" + items[3][2] + "\n" + drawn(draw, 9), "", "\n", items[0][2]]
    index = OverlapIndex.build(items, length, least)
    assert found_in(index, texts) == [reference(items, text, length, least) for text in texts]
    again = OverlapIndex.from_bytes(index.to_bytes(), "index")
    assert found_in(again, texts) == found_in(index, texts)
    assert again.to_bytes() == index.to_bytes()


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_a_huge_text_give_what_the_whole_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(100 + seed)
    items = [("p", number, drawn(draw, 12)) for number in range(1, 5)]
    text = "".join(draw.choice([drawn(draw, 6), item, "\n" + item + "\n"]) for _ in range(12) for _, _, item in items)
    index = OverlapIndex.build(items, 4, 2)
    (whole,) = found_in(index, [text])
    assert whole["p"]
    monkeypatch.setattr(finder, "PIECE", draw.randrange(60, 200))
    monkeypatch.setattr(finder, "_BACK", 40)
    assert found_in(index, [text]) == [whole]


def test_offsets_and_items_on_a_case_that_one_can_count() -> None:
    items = [("quiz", 1, "What is the capital of France?"), ("quiz", 2, "the capital of Spain"), ("other", 3, "x y z")]
    index = OverlapIndex.build(items, 3, 4)
    found = overlaps(index, ["“WHAT—is the capital of Spain”", "The Capital\u00a0of\nSpain", "the capital of Spain."])
    assert found["quiz"][0].tolist() == [[1, 23, 1], [13, 29, 2]]
    assert found["quiz"][1].tolist() == [[0, 14, 1], [4, 20, 2]]
    assert found["quiz_lines"][2].tolist() == [[0, 20, 2]]
    assert [len(spans) for spans in found["other"]] == [0, 0, 0]


def test_a_span_of_integers_has_three_columns() -> None:
    found = overlaps(OverlapIndex.build([("p", 1, "a b c")], 13, 5), ["a b c"])
    assert found["p"][0].shape == (0, 3)
    assert found["p"][0].dtype == np.int64
