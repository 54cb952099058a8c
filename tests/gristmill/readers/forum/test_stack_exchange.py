"""Posts.xml of Stack Exchange becomes threads."""

import gzip
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from talklake import talk_file

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.forum.stack_exchange import StackExchangePosts
from gristmill.recipes.raw_object import LeftOut, Limits, Refused


def row(number: int, kind: int, **attributes: object) -> str:
    given = {"Id": number, "PostTypeId": kind, "CreationDate": f"2010-07-{number:02d}T19:12:12.510", **attributes}
    return f"  <row {' '.join(f'{name}={quoteattr(str(value))}' for name, value in given.items())} />\n"


QUESTION = row(
    1, 1, Score=5, Body="<p>Why <b>grind</b>?</p>\n", Title="On mills", Tags="<mill><water-wheel>", AcceptedAnswerId=3,
    OwnerUserId=8, ContentLicense="CC BY-SA 2.5",
)  # fmt: skip
LOW = row(2, 2, ParentId=1, Score=-1, Body="<p>No.</p>", OwnerDisplayName="ben", ContentLicense="CC BY-SA 4.0")
HIGH = row(
    3, 2, ParentId=1, Score=7, Body="<pre><code>a\n  b</code></pre>", OwnerUserId=9, ContentLicense="CC BY-SA 4.0"
)
ALONE = row(4, 1, Score=0, Body="<p>Alone</p>", Title="T", Tags="|a|b|")


def posts(*rows: str) -> bytes:
    return b"\xef\xbb\xbf" + f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{"".join(rows)}</posts>'.encode()


def read(tmp_path: Path, data: bytes, name: str = "mills.example.org/Posts.xml", **options: Any) -> list[Any]:
    return list(StackExchangePosts(source="talks", **options)(talk_file(tmp_path, name, data)))


def test_a_question_comes_with_its_answers_the_best_first(tmp_path: Path) -> None:
    data = posts(LOW, QUESTION, row(5, 4, Body="excerpt"), ALONE, HIGH)
    raw = talk_file(tmp_path, "mills.example.org/Posts.xml", data)
    left_out, thread, alone = StackExchangePosts(source="talks")(raw)
    assert left_out == LeftOut("other kind of post")
    assert thread == Document(
        id="mills.example.org/1",
        text="Q: On mills\n\nWhy grind?\n\nA: a\n  b\n\nA: No.\n",
        source="talks",
        created="2010-07-01T19:12:12.510Z",
        metadata={
            "kind": "forum",
            "url": "https://mills.example.org/questions/1",
            "title": "On mills",
            "tags": ["mill", "water-wheel"],
            "score": 5,
            "answers": [
                {"id": 3, "score": 7, "created": "2010-07-03T19:12:12.510Z", "accepted": True},
                {"id": 2, "score": -1, "created": "2010-07-02T19:12:12.510Z", "accepted": False},
            ],
            "authors": ["8", "9", "ben"],
            "license": "CC-BY-SA-2.5 AND CC-BY-SA-4.0",
        },
    )
    assert isinstance(alone, Document)
    assert isinstance(alone.metadata, dict)
    assert (alone.text, alone.metadata["tags"], alone.metadata["license"]) == (
        "Q: T\n\nAlone\n",
        ["a", "b"],
        "NOASSERTION",
    )
    start = data.index(b"<row", data.index(LOW.encode()) + len(LOW) - 5)
    assert raw.take_raw_span() == RawSpan(
        data.index(ALONE.strip().encode()), data.index(ALONE.strip().encode()) + len(ALONE.strip())
    )
    assert data[start : start + 12] == b'<row Id="1" '


def test_a_thread_of_several_rows_has_no_single_place(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "m/Posts.xml", posts(QUESTION, LOW, HIGH, ALONE))
    made = [
        (each.id, raw.take_raw_span() is None)
        for each in StackExchangePosts(source="talks", least_score=8)(raw)
        if isinstance(each, Document)
    ]
    assert made == [("m/1", True), ("m/4", False)]  # the answers of the first one are left out, and are in its rows


def test_a_refused_answer_has_the_id_of_its_thread(tmp_path: Path) -> None:
    made = read(tmp_path, posts(QUESTION, HIGH, HIGH, row(7, 2, ParentId=99, Body="b")))
    found = [(each.reason, each.id) for each in made if isinstance(each, Refused)]
    assert found == [
        ("post id twice", "mills.example.org/1"),
        ("answer without its question", "mills.example.org/99"),
    ]


def test_packed_files_and_the_order_of_rows_give_the_same(tmp_path: Path) -> None:
    one = read(tmp_path / "1", posts(QUESTION, LOW, HIGH))
    two = read(tmp_path / "2", gzip.compress(posts(HIGH, LOW, QUESTION), mtime=0), "mills.example.org/Posts.xml.gz")
    assert one == two


def test_low_answers_and_open_questions_may_be_left_out(tmp_path: Path) -> None:
    low, thread, alone = read(
        tmp_path, posts(QUESTION, LOW, HIGH, ALONE), least_score=0, unanswered=False, site="x.org"
    )
    assert (low, alone) == (LeftOut("answer of a low score"), LeftOut("question without an answer"))
    assert (thread.id, len(thread.metadata["answers"])) == ("x.org/1", 1)


def test_bad_rows_are_refused_with_their_place(tmp_path: Path) -> None:
    bad = (row(6, 2, ParentId="x"), row(7, 2, ParentId=99, Body="b"), "<row PostTypeId='1'/>", row(8, 2, ParentId=8))
    made = read(tmp_path, posts(QUESTION, HIGH, HIGH, *bad, row(9, 1, Body="", Title="")))
    found = [(each.reason, each.where.partition(", byte")[0]) for each in made if isinstance(each, Refused)]
    assert found == [
        ("malformed post", "mills.example.org/Posts.xml line 6"),
        ("malformed post", "mills.example.org/Posts.xml line 8"),
        ("malformed post", "mills.example.org/Posts.xml line 8"),
        ("post id twice", "mills.example.org/Posts.xml post 3"),
        ("empty text", "mills.example.org/Posts.xml post 9"),
        ("answer without its question", "mills.example.org/Posts.xml post 7"),
    ]
    assert [each.id for each in made if isinstance(each, Document)] == ["mills.example.org/1"]


def test_a_long_row_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "m/Posts.xml", posts(QUESTION, row(2, 1, Body="x" * 50_000), ALONE))
    raw.limits = Limits(row=20_000)
    long, *rest = StackExchangePosts(source="talks")(raw)
    assert isinstance(long, Refused)
    assert (long.reason, long.size > 50_000, len(rest)) == ("row too long", True, 2)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (posts(QUESTION, HIGH)[:-30], r"unclosed token \(malformed xml\); acquire it again"),
        (posts(QUESTION, "<row", HIGH), "line 4"),
        (b"<!DOCTYPE posts [<!ENTITY a 'b'>]><posts/>", "xml declares entities"),
    ],
)
def test_a_damaged_file_is_an_error_with_its_place(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, data)
    assert "mills.example.org/Posts.xml: line " in str(caught.value)


def test_elements_that_are_no_rows_are_refused(tmp_path: Path) -> None:
    upper, wrapped = QUESTION.replace("<row", "<Row"), f"<more>{QUESTION}</more>"
    *refused, alone = read(tmp_path, posts(upper, wrapped, ALONE))
    assert [row.reason for row in refused] == ["unknown element"] * 2
    assert refused[0].where.endswith("(<Row>, not <row>)")
    assert isinstance(alone, Document)


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
        ("koi8-r", "koi8-r"),
        ("UTF-8", "utf-8"),
        ("UTF-8", "utf-8-sig"),
        ("UTF-16", "utf-16"),
        ("UTF-16", "utf-16-le"),
        ("UTF-16", "utf-16-be"),
        ("", "utf-8"),
        ("", "utf-16"),
    ],
)
def test_posts_are_read_in_the_encoding_that_the_file_declares(tmp_path: Path, declared: str, encoding: str) -> None:
    word = "мельница" if encoding == "koi8-r" else "Mühle"
    rows = (row(n, 1, Score=1, Body=f"<p>{word} {n}?></p>", Title=word) for n in range(1, 4))
    declaration = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""
    data = f"{declaration}<posts>\n{''.join(rows)}</posts>".encode(encoding)
    made = read(tmp_path, data)
    assert [(each.id, each.text) for each in made] == [
        (f"mills.example.org/{n}", f"Q: {word}\n\n{word} {n}?>\n") for n in range(1, 4)
    ]


@pytest.mark.parametrize(
    ("declared", "encoding", "place"),
    [
        ("UTF-8", "latin-1", "line 3, byte "),
        ("windows-1252", "cp1252 with 0x81", "line 3, byte "),
        ("no-such", "utf-8", "line 1, byte 30: "),
        ("shift_jis", "utf-8", "line 1, byte "),
        ("UTF-16", "utf-8", "line 1, byte "),
        ("ISO-8859-1", "utf-16", "line 1, byte "),
    ],
)
def test_an_encoding_that_is_wrong_or_unknown_is_an_error_with_its_place(
    tmp_path: Path, declared: str, encoding: str, place: str
) -> None:
    codec, _, extra = encoding.partition(" with ")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<posts>\n{row(1, 1, Title="Mühle")}</posts>'
    data = text.encode(codec)
    if extra:
        data = data.replace("ü".encode(codec), b"\x81")
    with pytest.raises(DataError, match=rf"mills.example.org/Posts.xml: {place}.*malformed xml.*acquire it again"):
        read(tmp_path, data)
