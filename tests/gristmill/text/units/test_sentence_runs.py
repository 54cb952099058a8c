"""Runs of sentences: spans and hashes counted by hand, and compared with one text alone."""

import unicodedata

import pytest
import xxhash
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.code_points import CodePoints
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.sentences import sentences
from gristmill.text.unicode.tables import MARK, character_flags
from gristmill.text.units import sentence_runs as module
from gristmill.text.units import unit_hashes
from gristmill.text.units.sentence_runs import sentence_runs, sentence_spans
from gristmill.text.units.unit_hashes import UnitHashes

TEXT = st.text(st.sampled_from('aB. !\n?。「*日\u00a0…"é😀'), max_size=40)
RULE = st.sampled_from([1, 2])


def joined(unit: UnitHashes) -> list[int]:
    return [high << 64 | low for high, low in zip(*(half.tolist() for half in unit.hashes), strict=True)]


def test_runs_of_three() -> None:
    text = "One é.  Two!\n***\nThree? Four."
    (one,) = sentence_runs([text, "A. B."])
    assert (one.spans.tolist(), one.skipped) == ([2, 0], {"too few sentences": 1})
    spans = [text[a:b] for a, b in zip(one.starts.tolist(), one.ends.tolist(), strict=True)]
    assert spans == ["One é.  Two!\n***\nThree?", "Two!\n***\nThree? Four."]
    runs = ["One é. Two! Three?", "Two! Three? Four."]
    assert joined(one) == [xxhash.xxh3_128_intdigest(run.encode()) for run in runs]


@settings(max_examples=draws(100))
@given(st.lists(TEXT, min_size=1, max_size=5), RULE)
def test_sentences_are_as_many_as_are_counted_and_trimmed(texts: list[str], rule: int) -> None:
    counts, starts, ends = sentence_spans(texts, rule)
    column = CodePoints.of(texts)
    assert counts.tolist() == sentences(column, Runs.of(column)).tolist()
    first = 0
    for text, count in zip(texts, counts.tolist(), strict=True):
        for start, end in zip(starts[first : first + count], ends[first : first + count], strict=True):
            assert text[start:end] == text[start:end].strip() != ""
        first += count


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (
            "彼は帰った。「はい」と言った。",
            ["彼は帰った。「", "はい」と言った。"],
            ["彼は帰った。", "「はい」と言った。"],
        ),
        ("行け。【笑】来い。", ["行け。【", "笑】来い。"], ["行け。", "【笑】来い。"]),
        ("「行け。」「来い。」", ["「行け。」「", "来い。」"], ["「行け。」", "「来い。」"]),
        ("行け。「 来い", ["行け。「", "来い"], ["行け。", "「 来い"]),
        ("行け。\n「来い」", ["行け。", "「来い」"], ["行け。", "「来い」"]),
        ('Go. "Come" he.', ["Go.", '"Come" he.'], ["Go.", '"Come" he.']),
        ("行け。……「。」", ["行け。……「。」"], ["行け。……"]),
        ("甲。「乙」。", ["甲。「", "乙」。"], ["甲。", "「乙」。"]),
        ("甲。“乙”。", ["甲。“", "乙”。"], ["甲。", "“乙”。"]),
        ("**行け。**次。", ["**行け。**", "次。"], ["**行け。**", "次。"]),
        ("行け。😀次。", ["行け。😀", "次。"], ["行け。😀", "次。"]),
        ("行け。〉「次。", ["行け。〉「", "次。"], ["行け。〉「", "次。"]),
    ],
)
def test_a_bracket_that_opens_behind_a_wide_mark_begins_the_next_sentence_by_rule_2(
    text: str, first: list[str], second: list[str]
) -> None:
    for rule, expected in ((1, first), (2, second)):
        _, starts, ends = sentence_spans([text, text], rule)
        spans = [text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert spans == expected * 2


def test_the_signs_that_open_are_those_of_unicode() -> None:
    known = (code for code in range(0x110000) if character_flags()[code] & MARK)
    opening = "".join(chr(code) for code in known if unicodedata.category(chr(code)) in {"Ps", "Pi"})
    assert opening == module._OPENING  # noqa: SLF001 - the table itself


def test_equal_sentences_behind_other_brackets_are_equal_by_rule_2() -> None:
    for rule, alike in ((1, False), (2, True)):
        (one,) = sentence_runs(["彼は帰った。「はい」", "彼は帰った。いいえ"], 1, rule=rule)
        hashes = joined(one)
        assert (hashes[0] == hashes[2]) is alike


def test_a_huge_text_has_the_runs_that_it_has_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A b. C d\nE f. G\n\n\nH? I j k l. M\nN"
    (whole,) = sentence_runs([text])
    for size in (1, 5, 9):
        monkeypatch.setattr(unit_hashes, "HUGE", size)
        monkeypatch.setattr(unit_hashes, "TOGETHER", size)
        parts = list(sentence_runs([text]))
        assert [place for part in parts for place in part.starts.tolist()] == whole.starts.tolist()
        assert [place for part in parts for place in part.ends.tolist()] == whole.ends.tolist()
        assert [each for part in parts for each in joined(part)] == joined(whole)
        assert sum(int(part.spans.sum()) for part in parts) == len(whole.starts)


@settings(max_examples=draws(60))
@given(st.text(st.sampled_from('aB. !?。「*日\u00a0"é'), min_size=1, max_size=60), st.integers(1, 12), RULE)
def test_a_huge_line_has_the_runs_that_it_has_as_one(text: str, size: int, rule: int) -> None:
    (whole,) = sentence_runs([text], rule=rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_hashes, "HUGE", 3)
        patch.setattr(unit_hashes, "TOGETHER", size)
        parts = list(sentence_runs([text], rule=rule))
    assert [each for part in parts for each in joined(part)] == joined(whole)
    assert [place for part in parts for place in part.starts.tolist()] == whole.starts.tolist()
    assert [place for part in parts for place in part.ends.tolist()] == whole.ends.tolist()


def test_a_sentence_that_is_too_long_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_hashes, "HUGE", 8)
    monkeypatch.setattr(unit_hashes, "TOGETHER", 4)
    monkeypatch.setattr(module, "_LONGEST", 8)
    parts = list(sentence_runs(["abcdefghijkl mn"], count=1))
    assert [(part.starts.tolist(), part.ends.tolist()) for part in parts] == [([0], [8]), ([8], [15])]


def test_a_huge_text_of_few_sentences_has_no_run_and_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_hashes, "HUGE", 3)
    monkeypatch.setattr(unit_hashes, "TOGETHER", 3)
    parts = list(sentence_runs(["One. Two.\n\n.", "A. B. C."]))
    assert [part.skipped for part in parts if part.skipped] == [{"too few sentences": 1}]
    assert [part.starts.tolist() for part in parts if len(part.starts)] == [[0]]
