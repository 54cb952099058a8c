"""Documents as OSCAR makes them: its thresholds one by one, and that they are valid lines of a release."""

import gzip
import json
import os
from pathlib import Path

import pytest
from talklake import talk_file
from warcfile import packed, read, record

from gristmill.errors import RecipeError
from gristmill.formats.oscar.compose import line_of_document
from gristmill.readers.oscar.lines import OscarLines
from gristmill.readers.web import oscar_split
from gristmill.readers.web.oscar_split import (
    Identified,
    OscarFromWet,
    identify_line_language,
    is_multilingual,
    quality_warnings,
    trim_short_edge_lines,
    vote_page_language,
)

ENGLISH = "The mill by the river grinds slowly, but it grinds exceedingly fine, and the miller sleeps while it works."
FRENCH = "Le moulin au bord de la rivière tourne lentement, mais il moud très fin, et le meunier dort longtemps."
GERMAN = "Die Mühle am Fluss mahlt langsam, aber sie mahlt außerordentlich fein, und der Müller schläft sehr lange."
EN, FR, NO = ("en", 0.9), ("fr", 0.9), None


def wet(*lines: str, number: int = 1) -> bytes:
    return record("conversion", "\n".join(lines).encode(), number)


@pytest.mark.parametrize(
    ("lengths", "kept"),
    [
        ([100, 101, 5, 101, 100], [101, 5, 101]),
        ([101], [101]),
        ([100, 100], "only short lines"),
        ([], "only short lines"),
        ([150, 99, 99, 150], [150, 99, 99, 150]),  # 300 of 498: 60.2%
        ([150, 99, 102, 99, 101], [150, 99, 102, 99, 101]),
        ([150, 99, 99, 99, 150], "mostly short lines"),  # 300 of 597
        ([150, 100, 100, 99, 101], [150, 100, 100, 99, 101]),  # lines of 100 count as long inside
    ],
)
def test_the_part_between_long_lines_is_kept(lengths: list[int], kept: list[int] | str) -> None:
    part = trim_short_edge_lines(["é" * length for length in lengths])
    assert (part if isinstance(part, str) else [len(line) for line in part]) == kept


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ([EN] * 5 + [FR] * 5, True),
        ([EN] * 4 + [FR] * 5, False),  # nine lines
        ([EN] * 10, False),
        ([EN] * 6 + [FR] * 4, False),  # 4 < 10 // 2
        ([EN] * 5 + [FR] * 4 + [NO], True),  # 10 // 3 = 3
        ([EN] * 4 + [FR] * 4 + [NO] * 2, False),  # 80% is not over 80%
        ([EN, FR, ("de", 1.0), ("es", 1.0), ("it", 1.0)] * 2, True),
        ([EN, FR, ("de", 1.0), ("es", 1.0), ("it", 1.0), ("nl", 1.0)] * 2, False),
    ],
)
def test_when_a_page_is_multilingual(lines: list[Identified], answer: bool) -> None:  # noqa: FBT001
    assert is_multilingual(lines) is answer


@pytest.mark.parametrize(
    ("sizes", "identified", "result"),
    [
        ([60, 40], [("en", 1.0), ("fr", 0.9)], ("en", 0.6)),
        ([59, 41], [("en", 1.0), ("fr", 0.9)], "language not certain"),
        ([50, 50], [("fr", 1.0), ("en", 1.0)], "language not certain"),
        ([40, 60], [("en", 1.0), None], "no language"),
        ([10], [None], "no language"),
        ([90, 10], [("en", 0.9), None], ("en", 0.81)),
        ([10] * 10, [EN, FR] * 5, ("multi", 0.5)),
    ],
)
def test_the_vote_is_by_bytes(sizes: list[int], identified: list[Identified], result: tuple[str, float] | str) -> None:
    found = vote_page_language(["x" * size for size in sizes], identified)
    if isinstance(result, str) or isinstance(found, str):
        assert found == result
    else:
        assert (found[0], round(found[1], 9)) == result


def test_warnings_come_in_the_order_of_the_generator() -> None:
    assert quality_warnings(["x" * 101] * 5, "x" * 505) is None
    assert quality_warnings(["1", "2"], "1\n2") == ["tiny", "short_sentences", "noisy"]
    assert (
        quality_warnings(["a", *["x" * 101] * 8, "b"], "x") is None
    )  # one short line of a fifth of two is not over half
    assert quality_warnings(["a", "b", *["x" * 101] * 6, "c", "d"], "x") == ["header", "footer"]


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_a_page_becomes_a_document_that_oscar_would_have(tmp_path: Path, schema: str) -> None:
    reader = OscarFromWet(source="own", schema=schema)  # type: ignore[arg-type]
    pages = [
        wet("Menu", "Home", ENGLISH, "short", ENGLISH, "Footer", number=1),
        wet(*[ENGLISH, FRENCH] * 5, number=2),
        wet("Menu", number=3),
        wet(ENGLISH, *["a short line"] * 30, ENGLISH, number=4),
        wet("0123456789 " * 12, number=5),
        wet(*[ENGLISH, FRENCH, GERMAN] * 2, number=6),
        wet("\r\n".join([GERMAN] * 6), number=7),
    ]
    found = read(reader, tmp_path, packed(record("warcinfo"), *pages), "a.warc.wet.gz")
    assert found.refused == []
    assert [(each.id, found.metadata(n)["language"]) for n, each in enumerate(found.documents)] == [
        ("<urn:uuid:1>", "en"),
        ("<urn:uuid:2>", "mul"),
        ("<urn:uuid:7>", "de"),
    ]
    assert found.left_out == {
        "warcinfo record": 1,
        "only short lines": 1,
        "mostly short lines": 1,
        "no language": 1,
        "language not certain": 1,
    }
    first = found.documents[0]
    assert first.text == f"{ENGLISH}\nshort\n{ENGLISH}"
    oscar = found.metadata()["oscar"]
    assert [each and each["label"] for each in oscar["sentence_identifications"]][::2] == ["en", "en"]
    assert oscar["annotation" if schema == "22.01" else "quality_warnings"] == ["tiny"]
    lines = b"".join(line_of_document(each, schema=schema).line + b"\n" for each in found.documents)  # type: ignore[arg-type]
    again = OscarLines(source="own", schema=schema)  # type: ignore[arg-type]
    rows = read_lines(again, tmp_path, gzip.compress(lines, mtime=0))
    assert [json.loads(row)["metadata"] for row in rows] == [found.metadata(n) for n in range(3)]
    assert [json.loads(row)["text"] for row in rows] == [each.text for each in found.documents]


def read_lines(reader: OscarLines, root: Path, data: bytes) -> list[bytes]:
    return [row.line for row in reader(talk_file(root, "en.jsonl.gz", data))]  # type: ignore[union-attr]


@pytest.mark.parametrize("line", ["", " ", "0", "\r", "\x85", "x" * 200_000])
def test_odd_lines_have_no_language_or_one(line: str) -> None:
    found = identify_line_language(line)
    assert found is None or found[1] >= 0.8


def test_a_model_that_is_missing_or_another_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oscar_split._load_language_model.cache_clear()  # noqa: SLF001
    monkeypatch.setattr(oscar_split, "MODEL", tmp_path / "lid.176.ftz")
    with pytest.raises(RecipeError, match=r"lid\.176\.ftz cannot be read"):
        identify_line_language("text")
    (tmp_path / "lid.176.ftz").write_bytes(b"another")
    with pytest.raises(RecipeError, match=r"has sha256"):
        identify_line_language("text")


@pytest.mark.skipif("GRISTMILL_SAMPLE_DATA" not in os.environ, reason="no sample data")
def test_warnings_and_votes_are_those_of_real_documents() -> None:
    """Each real line's own identifications give its document's language and probability, and its text its warnings."""
    seen = 0
    for path in sorted((Path(os.environ["GRISTMILL_SAMPLE_DATA"]) / "raw" / "oscar").rglob("*.jsonl.gz")):
        for row in map(json.loads, gzip.decompress(path.read_bytes()).splitlines()):
            lines = row["content"].split("\n")
            lines = lines[:-1] if not lines[-1] else lines
            given = row["metadata"]["sentence_identifications"]
            identified = [None if each is None else (each["label"], each["prob"]) for each in given]
            found = vote_page_language(lines, identified)
            assert isinstance(found, tuple)
            wanted = row["metadata"]["identification"]
            assert found[0] == wanted["label"]
            assert abs(found[1] - wanted["prob"]) < 1e-6
            assert [*dict.fromkeys(row["metadata"]["annotation"] or [])] == (
                quality_warnings(lines, row["content"]) or []
            )
            seen += 1
    assert seen == 28
