"""The reference here is Dolma's definition: its expressions, tried at each place, which can take quadratic time."""

import re
from contextlib import nullcontext
from typing import Any

import pytest
from cpu_time import cpu_seconds
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import TaggerFailed
from gristmill.taggers.pii import PII, tag
from gristmill.text.huge.limits import MOST_SPANS

EMAIL = re.compile(r"[.\s@,?!;:)(]*([^\s@]+@[^\s@,?!;:)(]+?)[.\s@,?!;:)(]?[\s\n\r]")
PHONE = re.compile(r"\s+\(?(\d{3})\)?[-\. ]*(\d{3})[-. ]?(\d{4})")
NUMBER = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
IP = re.compile(rf"(?:{NUMBER}\.){{3}}{NUMBER}")

Places = list[tuple[int, int]]


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)]


def found(text: str) -> dict[str, Places]:
    labels: Any = PII.look(documents(text))
    return {name: [(start, end) for start, end, _ in values[0]] for name, values in labels.items() if name.isupper()}


def plain(text: str) -> dict[str, Places]:
    spans: dict[str, Places] = {"EMAIL_ADDRESS": [], "PHONE_NUMBER": [], "IP_ADDRESS": []}
    start = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
        for match in EMAIL.finditer(line):
            name, domain = match[1].split("@")
            if name != "(" and "." in domain:
                spans["EMAIL_ADDRESS"].append((start + match.start(), start + match.end()))
        spans["PHONE_NUMBER"] += [(start + each.start(), start + each.end()) for each in PHONE.finditer(line)]
        spans["IP_ADDRESS"] += [(start + each.start(), start + each.end()) for each in IP.finditer(line)]
        start += len(line)
    return spans


WORDS = [
    *(
        "a",
        "b",
        "é",
        "@",
        "@",
        "@",
        ".",
        ".",
        ",",
        ":",
        "(",
        ")",
        "(@",
        "a@b.c",
        "x.y@z.de",
        " ",
        " ",
        " ",
        "\t",
        "\r\n",
    ),
    *("\n", "\u2028", "\x85", "\U0001f469\u200d\U0001f467", "e\u0301", "\0", "\ud800", "-", "..", "?", "!", ";"),
]
NUMBERS = [
    *(
        "1",
        "22",
        "333",
        "4444",
        "5",
        "12.34.56.78",
        "255",
        "256",
        "01",
        "999",
        "٣٤٥",
        "६",
        "²",
        "123",
        "4567",
        "1234567890",
    ),
    *(".", ".", ".", "-", " ", " ", " ", "(", ")", "\n", "\t", "\u3000", "x", "  ", "#", "\U0001f469"),
]


def joined(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=30).map("".join)


@pytest.mark.slow
@settings(max_examples=draws(250))
@given(st.one_of(joined(WORDS), joined(NUMBERS), joined(WORDS + NUMBERS)))
def test_the_spans_are_those_of_the_expressions(text: str) -> None:
    assert found(text) == plain(text)


@pytest.mark.parametrize(
    ("text", "email"),
    [
        ("mail ann@example.org.\n", " ann@example.org.\n"),
        ("\U0001f469\u200d\U0001f467 e\u0301 ann@example.org, or", " ann@example.org, "),
        ("(ann@example.org)\r\n", "(ann@example.org)\r"),
        ("x @.@a@b.c @.:d@e.f g", " @.@a@b.c "),
        ("see (@example.org now", None),
        ("the last word: ann@example.org", None),
        ("ann@localhost is here", None),
    ],
)
def test_an_address_has_a_host_with_a_dot_and_white_space_after_it(text: str, email: str | None) -> None:
    spans = found(text)["EMAIL_ADDRESS"]
    assert [text[start:end] for start, end in spans][:1] == ([] if email is None else [email])
    assert found(text) == plain(text)


def test_counts_and_the_share_of_the_text() -> None:
    labels = tag(Batch(documents("1.2.3.4 and 5.6.7.8", "", "nothing")))
    assert labels["doc_count"] == [2.0, 0.0, 0.0]
    assert labels["share"] == [round(14 / 19, 5), None, 0.0]


HOSTILE = {
    "names": "a@",
    "hosts": "a@b.c ",
    "marks": " @.",
    "versions": "1.",
    "digits": "1",
    "spaces": " ",
    "three digits": " 123",
    "separators": "-",
    "one of each": " 123 - ",
    "question marks": "?",
    "dots": ".",
    "letters": "x",
}


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_ten_times_the_text_takes_about_ten_times_the_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "x@y " + piece * (size // len(piece)) + " 123"
        [document] = documents(text)
        return cpu_seconds(lambda: PII.look([document]), times=3)

    seconds(1_000)
    assert seconds(300_000) < 50 * max(seconds(30_000), 0.001)  # quadratic time would be a hundred times


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_ten_megabytes_that_are_hostile_take_seconds(kind: str) -> None:
    text = "x@y " + HOSTILE[kind] * (10_000_000 // len(HOSTILE[kind])) + " 123"
    crowded = kind in {"hosts", "versions"}  # more than a million addresses

    def look() -> None:
        with pytest.raises(TaggerFailed, match=f"more than {MOST_SPANS:,} spans") if crowded else nullcontext():
            PII.look(documents(text))

    assert cpu_seconds(look) < 60
