"""CSV and TSV become documents."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.delimited import DelimitedRows, _Quoting
from gristmill.recipes.raw_object import LeftOut, Limits, Refused
from gristmill.recipes.row_format import Text


def read(tmp_path: Path, data: bytes, name: str = "a.csv", **options: Any) -> list[Any]:
    return list(DelimitedRows(source="tweets", **options)(talk_file(tmp_path, name, data)))


def reasons(made: list[Any]) -> list[str]:
    return [row.reason if isinstance(row, Refused) else row.id for row in made]


def test_values_come_back_as_they_went_in_whatever_they_hold(tmp_path: Path) -> None:
    texts = ["plain", 'a "quoted" word', "a, b; c", "two\nlines\r\n\r\n", " é\t", "'"]
    buffer = io.StringIO()
    table = csv.writer(buffer)
    table.writerow(["", "id", "text"])
    table.writerows([["", number, text] for number, text in enumerate(texts)])
    data = b"\xef\xbb\xbf" + buffer.getvalue().encode()
    for name, packed in (("a.csv", data), ("a.csv.gz", gzip.compress(data, mtime=0))):
        assert read(tmp_path, packed, name, leave_out=("",)) == [
            Document(id=str(number), text=text, source="tweets") for number, text in enumerate(texts)
        ]


def test_a_record_without_text_is_left_out_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    data = b'title,body\nA,one\nB,\nC,""\nD," \t"\nE,two\n'
    made = read(tmp_path, data, id_key=None, format=Text(text_key="body"))
    assert made[1:4] == [LeftOut("empty text", id=f"2024/a.csv:{n}", source="tweets") for n in (1, 2, 3)]
    assert [(each.id[-1], each.text, each.metadata) for each in (made[0], made[4])] == [
        ("0", "one", {"title": "A"}),
        ("4", "two", {"title": "E"}),
    ]
    joined = read(tmp_path, b"id,title,body\n1,A,\n2,,\n", text_keys=("title", "body"))
    assert joined == [Document(id="1", text="A", source="tweets"), LeftOut("empty text", id="2", source="tweets")]


def test_an_empty_cell_is_no_time(tmp_path: Path) -> None:
    data = b"id,text,created\n1,a,2024\n2,b,\n"
    timed = Document(id="1", text="a", source="tweets", created="2024")
    for options in ({}, {"created_key": "created"}):
        assert read(tmp_path, data, **options) == [timed, Document(id="2", text="b", source="tweets")]
    (seconds,) = read(tmp_path, b"id,text,at\n1,a,\n", created_key="at", time_unit="s")
    assert seconds == Document(id="1", text="a", source="tweets")
    (acquired,) = read(tmp_path, b"id,text,added\n1,a,\n", added="2025")
    assert acquired == Document(id="1", text="a", source="tweets", added="2025")


def test_a_document_knows_its_bytes(tmp_path: Path) -> None:
    data = b'id,text\r\n1,"a\r\nb"\r\n2,c\r\n'
    raw = talk_file(tmp_path, "a.csv", data)
    spans = [raw.take_raw_span() for _ in DelimitedRows(source="tweets")(raw)]
    assert spans == [RawSpan(9, 18), RawSpan(19, 23)]
    assert [data[span.start : span.end] for span in spans if span] == [b'1,"a\r\nb"\r', b"2,c\r"]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b'id\ttext\n1\t"a" b\n', {"delimiter": "\t", "quote": None}),
        (b"id;text\n1;'\"a\" b'\n", {"delimiter": ";", "quote": "'"}),
        (b'id,text\n1,"\\"a\\" b"\n', {"escape": "\\"}),
        (b'1,"""a"" b"\n', {"columns": ("id", "text")}),
    ],
)
def test_delimiter_quotes_and_columns_are_declared(tmp_path: Path, data: bytes, options: dict[str, Any]) -> None:
    assert read(tmp_path, data, **options) == [Document(id="1", text='"a" b', source="tweets")]


def test_rows_that_do_not_fit_are_refused_beside_others_with_row_and_line(tmp_path: Path) -> None:
    data = b'id,text\n1,"a\nb"\n2\n\n3,c,d\n4,"x"y\n5,caf\xe9\n6,\xc3\xa9\n7,g\rh\n8,"open\n9,i\n'
    made = read(tmp_path, data)
    assert reasons(made) == [
        "1",
        "ragged row",
        "empty line",
        "ragged row",
        "misplaced quote",
        "not utf-8",
        "6",
        "carriage return in a field",
        "quote is not closed",
    ]
    assert [row.where for row in made if isinstance(row, Refused)] == [
        "a.csv row 1 (line 4: 1 fields, the header has 2)",
        "a.csv row 2 (line 5: 0 fields, the header has 2)",
        "a.csv row 3 (line 6: 3 fields, the header has 2)",
        "a.csv row 4 (line 7)",
        f'a.csv row 5 (line 8, byte {data.index(0xE9)} unpacked; declare encoding="latin-1", or as the file is)',
        "a.csv row 7 (line 10)",
        "a.csv row 8 (line 11)",
    ]
    assert made[-1].raw == b'8,"open\n9,i'


def test_a_header_in_another_encoding_names_the_mend(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'not utf-8\); declare encoding="latin-1"'):
        read(tmp_path, b"id,caf\xe9\n1,a\n")


def test_a_declared_encoding_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, b"id,text\n1,caf\xe9\n", encoding="latin-1")[0].text == "café"


@pytest.mark.parametrize("field", [b"x" * 500, b'"' + b"x\n" * 250 + b'"', b'"' + b'x""\n' * 250 + b'"'])
def test_a_record_that_is_too_long_is_refused_whole_and_the_next_is_read(tmp_path: Path, field: bytes) -> None:
    raw = talk_file(tmp_path, "a.csv", b"id,text\n1,a\n2," + field + b"\n3,c\n")
    raw.limits = Limits(row=100)
    made = list(DelimitedRows(source="tweets")(raw)) + raw.take_refused()
    assert sorted(reasons(made)) == ["1", "3", "row too long"]
    (long,) = (row for row in made if isinstance(row, Refused))
    assert long.size == len(field) + 2
    assert len(long.raw) < 1000


def limited(tmp_path: Path, data: bytes, row: int, **options: Any) -> list[Any]:
    raw = talk_file(tmp_path, "a.csv", data)
    raw.limits = Limits(row=row)
    made = list(DelimitedRows(source="tweets", **options)(raw))
    assert raw.take_refused() == []
    return made


LONG = b"y" * 150


@pytest.mark.parametrize(
    ("record", "options"),
    [
        (b'2,"a\n' + LONG + b'\nb"', {}),
        (b'2,"' + LONG + b'\n8,b\n9,c"', {}),
        (b'2,"a\n' + LONG + b'"', {}),
        (b'2,"a\n' + LONG + b'\n""' + LONG + b'""\n\n8,b"', {}),
        (b'2,"a\n' + LONG[:60] + b"\n" + LONG[:60] + b'"', {}),
        (b'2,"' + LONG[:60] + b"\n" + LONG[:60] + b'""\n8,b\n9,c"', {}),
        (b'2,5" of ' + LONG, {}),
        (b'2,"""' + LONG + b'""\n8,b"', {}),
        (b'2,"' + LONG + b'\\"\n8,b\\\\"', {"escape": "\\"}),
        (b"2," + LONG + b"\\\n8", {"escape": "\\", "quote": None}),
        ('2,«a"'.encode() + LONG + "\n8,b«".encode(), {"quote": "«"}),
        (b"2,'" + LONG + b"\xe9\n8;b'", {"quote": "'", "encoding": "latin-1"}),
    ],
)
def test_a_record_with_a_line_that_is_too_long_is_refused_to_its_end(
    tmp_path: Path, record: bytes, options: dict[str, Any]
) -> None:
    data = b"id,text\n1,a\n" + record + b"\n3,c\n"
    made = limited(tmp_path, data, 100, **options)
    assert reasons(made) == ["1", "row too long", "3"]
    where = f"a.csv row 1 (line 3: {len(record)} bytes, but row_limit is 100; its first are kept)"
    assert (made[1].where, made[1].size, record.startswith(made[1].raw)) == (where, len(record), True)
    assert [row.reason for row in limited(tmp_path, data, 1000, **options) if isinstance(row, Refused)] == []


@pytest.mark.parametrize(
    ("text", "escape", "inside"),
    [
        ('é,"a""é""","",5"",""""', None, False),
        ('é,"a""é""","",5"","""é""', None, True),
        ('é,"\\"é\\\\",\\",\\"', "\\", False),
        ('é,"\\"é\\\\","\\"', "\\", True),
        ("é,a\\", "\\", True),
        ('é,"""', "\\", False),
    ],
)
def test_the_end_of_a_long_record_is_found_wherever_its_bytes_are_cut(
    text: str, escape: str | None, *, inside: bool
) -> None:
    data = text.encode()
    for cut in range(len(data) + 1):
        quoting = _Quoting(",", '"', escape, "utf-8")
        quoting.add(data[:cut])
        quoting.add(data[cut:])
        quoting.end_line()
        assert quoting.inside == inside


def test_long_first_and_last_lines_are_records_with_their_bytes(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf"' + LONG + b'\n","a"\n1,a\n2,"' + LONG
    raw = talk_file(tmp_path, "a.csv", data)
    raw.limits = Limits(row=100)
    found = [(row, raw.take_raw_span()) for row in DelimitedRows(source="tweets", columns=("id", "text"))(raw)]
    assert reasons([row for row, _ in found]) == ["row too long", "1", "row too long"]
    assert [data[span.start : span.end][-4:] for _, span in found if span] == [b',"a"', b"1,a", b"yyyy"]


def test_a_record_as_long_as_the_limit_is_read(tmp_path: Path) -> None:
    assert reasons(limited(tmp_path, b'id,text\n1,"a\nb"\n2,"a\nbc"\n', 7)) == ["1", "row too long"]


@pytest.mark.parametrize(
    ("data", "options", "why"),
    [
        (b"key,text\n", {}, "no field 'id', which id_key names; the header has: key, text"),
        (b"id;text\n", {}, "no field 'id', which id_key names; the header has: id;text; is the delimiter a semicolon?"),
        (b"id,text,id\n", {}, "the header has id twice; it has: id, text, id; declare columns"),
        (b'id,"te\n', {}, r"the header cannot be read \(quote is not closed\); declare columns"),
        (b"1,a\n", {"columns": ("key", "text")}, "no field 'id', which id_key names"),
    ],
)
def test_a_header_that_lacks_what_the_recipe_names_is_an_error(
    tmp_path: Path, data: bytes, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(DataError, match=rf"a\.csv: {why}"):
        read(tmp_path, data, **options)


def test_an_empty_or_truncated_file_is_an_error_and_a_header_alone_is_no_row(tmp_path: Path) -> None:
    assert read(tmp_path, b"id,text\n") == read(tmp_path, b"", columns=("id", "text")) == []
    with pytest.raises(DataError, match=r"a\.csv: the header is missing, for the file is empty"):
        read(tmp_path, b"")
    with pytest.raises(DataError, match=r"a\.csv\.gz: the file ends in the middle"):
        read(tmp_path, gzip.compress(b"id,text\n1,a\n", mtime=0)[:-4], "a.csv.gz")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"delimiter": ""}, "must be three different characters"),
        ({"delimiter": '"'}, "must be three different characters"),
        ({"quote": "\n"}, "must be three different characters"),
        ({"encoding": "utf-16"}, "rewrite the files in UTF-8"),
        ({"encoding": "nonsense"}, "give an encoding that Python knows"),
        ({"keep": ("a",), "leave_out": ("a",)}, "a field of keep cannot be in leave_out"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], why: str) -> None:
    with pytest.raises(RecipeError, match=rf"^DelimitedRows of source 't'.*{why}"):
        DelimitedRows(**{"source": "t", **options})
