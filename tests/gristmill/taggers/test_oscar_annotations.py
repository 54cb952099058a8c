import json
import unicodedata
from typing import Any

import msgspec
import pytest
from oscarlines import real_lines

from gristmill.formats.oscar.rows import OscarRows
from gristmill.lake.rows.document import Document
from gristmill.taggers.oscar_annotations import OSCAR_ANNOTATIONS, tag

WARNINGS = ("tiny", "short_sentences", "header", "footer", "noisy")


def warnings(text: str, **oscar: Any) -> list[str]:
    labels = tag(Document(id="a", text=text, source="oscar", metadata={"oscar": oscar}))
    return [name for name in WARNINGS if labels[name]]


def test_the_real_annotations_are_reproduced() -> None:
    count = 0
    for line in real_lines():
        document = msgspec.json.decode(OscarRows("oscar", "22.01").row(line).row, type=Document)
        expected = json.loads(line)["metadata"]["annotation"] or []
        assert warnings(document.text) == expected
        count += len(expected)
    assert count == 59


LONG = "x" * 101


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([LONG] * 4, ["tiny"]),
        ([LONG] * 5, []),
        (["x" * 100] * 2 + [LONG] * 3, []),  # 2 of 5 are short, and more than int(2.5) are asked for
        ([LONG] * 2 + ["x" * 100] * 3, ["short_sentences"]),  # a line of 100 bytes is not short for the footer
        (["x"] + [LONG] * 4, ["header"]),
        ([LONG] * 4 + ["x"], ["footer"]),
        (["é" * 50] + [LONG] * 4, []),  # 100 bytes
        (["é" * 49] + [LONG] * 4, ["header"]),
        (["x"] + [LONG] * 9, []),  # 1 of 2 is not more than half
        (["x"] * 2 + [LONG] * 8, ["header"]),
        (["x", LONG] + ["x"] + [LONG] * 12, ["header"]),  # 2 of 3
    ],
)
def test_thresholds_are_those_of_the_generator(lines: list[str], expected: list[str]) -> None:
    assert warnings("\n".join(lines)) == expected
    assert warnings("\n".join(lines) + "\n") == expected  # a final line feed begins no line


def test_other_line_breaks_are_part_of_a_line() -> None:
    assert warnings("\u2028".join([LONG] * 5)) == ["tiny"]
    assert warnings("\r\n".join([LONG] * 5)) == []
    assert "short_sentences" in warnings("\r\n".join(["x" * 100] * 5))  # the carriage return belongs to the line end


@pytest.mark.parametrize(
    ("text", "noisy"),
    [("a1", False), ("a12", True), ("a1b", False), ("", False), ("1", True), ("é😀1", True), ("ക്ഷീ ണി", False)],
)
def test_more_than_half_must_be_neither_letters_nor_marks(text: str, *, noisy: bool) -> None:
    others = sum(unicodedata.category(character)[0] not in "LM" for character in text)
    assert (others > len(text) // 2) == noisy
    assert ("noisy" in warnings(text)) == noisy


def test_what_a_release_says_beyond_warnings_is_adopted() -> None:
    oscar = {"harmful_pp": 4063.1814, "tlsh": "tlsh:T1", "categories": ["blog", "mixed adult"]}
    document = Document(id="a", text="b", source="oscar-2301", metadata={"oscar": oscar})
    (labels,) = zip(*OSCAR_ANNOTATIONS.look([document]).values(), strict=True)
    found = dict(zip(OSCAR_ANNOTATIONS.look([document]), labels, strict=True))
    assert {name: value for name, value in found.items() if name not in WARNINGS} == {
        "category_blog": 1.0,
        "category_mixed%20adult": 1.0,
        "harmful_pp": 4063.1814,
        "has_tlsh": 1.0,
    }
    empty = tag(Document(id="a", text="b", source="s", metadata={"oscar": dict.fromkeys(oscar)}))
    assert set(empty) == {*WARNINGS, "has_tlsh"}
    assert empty["has_tlsh"] == 0.0
    assert set(tag(Document(id="a", text="b", source="s"))) == set(WARNINGS)


def test_it_tags_sources_whose_names_begin_with_oscar() -> None:
    assert [OSCAR_ANNOTATIONS.applies_to(name) for name in ("oscar", "oscar-2201", "pages")] == [True, True, False]
