"""Every reader and every kind of damage: an error, or refused rows that are counted; never fewer rows in silence."""

import bz2
import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from goodfiles import COUNT, GOOD, TEXTS, Good
from partkit import Held
from testkit import SNAPSHOT, Mill

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import LEVELS
from gristmill.recipes.raw_object import Copied, LeftOut, Limits, RawObject, Refused
from gristmill.stages.conversion import grinder
from gristmill.stages.conversion.step import ConversionStep

PACKED = [
    name
    for name, good in GOOD.items()
    if good.name.endswith((".gz", ".zst", ".bz2", ".xz", ".zip", ".epub", ".parquet"))
]


class Result(NamedTuple):
    """The ids of what was kept, and how many records were refused or left out."""

    ids: list[str]
    refused: int
    left_out: int

    @property
    def records(self) -> int:
        """All records, whatever became of them."""
        return len(self.ids) + self.refused + self.left_out


def read(good: Good, data: bytes, limits: Limits | None = None) -> Result:
    raw = RawObject(Held(data, 4096), good.name, good.name, len(data), limits)
    rows = list(good.reader(raw))
    raw.sha256()
    refused = [row for row in [*rows, *raw.take_refused()] if isinstance(row, Refused)]
    assert all(good.name in row.where and row.reason for row in refused)
    ids = [row.id for row in rows if isinstance(row, Document | Copied)]
    return Result(ids, len(refused), sum(row.records for row in rows if isinstance(row, LeftOut)))


def attempt(good: Good, data: bytes, limits: Limits | None = None) -> Result | None:
    """What a reader gives; None after an error that names the file."""
    try:
        return read(good, data, limits)
    except DataError as error:
        if good.name not in str(error):
            pytest.fail(f"the file is not named: {error}")
        return None


def check_accounted(good: Good, data: bytes, where: object) -> None:
    """An error that names the file, or all rows, or fewer rows and as many refused ones that say why."""
    whole, found = read(good, good.data), attempt(good, data)
    missing = found is not None and set(whole.ids) - set(found.ids)
    assert not missing or (found is not None and found.refused), (where, missing)


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_file_gives_every_row(kind: str) -> None:
    found = read(GOOD[kind], GOOD[kind].data)
    assert (len(set(found.ids)), found.refused, found.left_out) == (COUNT, 0, 0)


@pytest.mark.parametrize("kind", GOOD)
def test_a_truncated_file_is_told(kind: str) -> None:
    good = GOOD[kind]
    for part in (0.1, 0.4, 0.77, 0.99):
        at = round(len(good.data) * part)
        check_accounted(good, good.data[: at + (good.data[at - 1 : at] == b"\n")], part)


@pytest.mark.parametrize("kind", PACKED)
def test_a_truncated_packed_file_is_an_error(kind: str) -> None:
    good = GOOD[kind]
    with pytest.raises(DataError, match=good.name):
        read(good, good.data[: len(good.data) // 2 + 3])


@pytest.mark.parametrize("kind", GOOD)
def test_a_hole_in_the_middle_is_told(kind: str) -> None:
    good = GOOD[kind]
    for part in (0.2, 0.5, 0.8):
        at = round(len(good.data) * part)
        check_accounted(good, good.data[:at] + bytes(60) + good.data[at + 60 :], part)


@pytest.mark.parametrize("kind", GOOD)
def test_an_empty_file_or_one_of_zeros_gives_nothing_and_zeros_are_told(kind: str) -> None:
    good = GOOD[kind]
    empty, zeros = attempt(good, b""), attempt(good, bytes(5000))
    assert empty is None or empty.ids == []
    assert zeros is None or zeros.ids == []
    assert (
        zeros is None or zeros.refused or kind in {"texts plain tar", "webdataset"}
    )  # zeros are how an archive without members ends


def test_zeros_in_the_middle_of_an_archive_do_not_end_it() -> None:
    good = GOOD["texts plain tar"]
    for at in range(0, len(good.data) // 2, 512):
        check_accounted(good, good.data[:at] + bytes(2048) + good.data[at + 2048 :], at)


@pytest.mark.parametrize("kind", GOOD)
def test_another_packing_than_the_name_says_is_told(kind: str) -> None:
    good = GOOD[kind]
    plain = gzip.decompress(good.data) if good.data[:2] == b"\x1f\x8b" else gzip.compress(good.data, mtime=0)
    check_accounted(good, plain, "other packing")


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "wrong encoding": lambda record: record.replace("naïve".encode(), "naïve ".encode("latin-1")),
    "a zero byte": lambda record: record.replace(b"fine", b"fi\0e"),
    "zeros": lambda record: bytes(len(record) - 1) + record[-1:],
    "half": lambda record: record[: len(record) // 2] + (b"\n" if record.endswith(b"\n") else b""),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("kind", [kind for kind in GOOD if kind != "parquet"])
@pytest.mark.parametrize("damage", SPOILT)
def test_a_spoilt_record_is_counted_and_its_neighbours_stay_or_the_file_fails(kind: str, damage: str) -> None:
    good = GOOD[kind]
    whole = read(good, good.data)
    for n in (0, 5, COUNT - 1):
        records = list(good.records)
        records[n] = SPOILT[damage](records[n])
        found = attempt(good, good.pack(records))
        if found is not None:
            behind = damage == "half" and kind.startswith("csv")  # an open quote takes the next line into its row
            assert set(whole.ids) - set(found.ids) <= set(whole.ids[n : n + 1 + behind]), "a good neighbour is lost"
            gone = damage == "nothing" and found.records == COUNT - 1  # a file without the record, not a spoilt record
            assert gone or found.records == COUNT or (behind and found.refused and found.records == COUNT - 1)


@pytest.mark.parametrize("kind", ["lines", "csv", "array", "posts", "texts plain tar"])
def test_another_encoding_than_declared_is_told(kind: str) -> None:
    good = GOOD[kind]
    wrong = good.data.replace("naïve".encode(), "naïve ".encode("latin-1"))
    assert len(wrong) == len(good.data)
    found = attempt(good, wrong)
    assert found is None or (found.ids == [] and found.refused == COUNT)


@pytest.mark.parametrize("kind", ["lines", "lines gz", "dolma", "csv", "parquet"])
def test_a_row_that_is_too_long_is_told_and_its_neighbours_stay(kind: str) -> None:
    found = attempt(GOOD[kind], GOOD[kind].data, Limits(row=max(len(text.encode()) for text in TEXTS) - 1))
    assert found is None or (found.refused and COUNT // 2 <= len(found.ids) < COUNT)


@pytest.mark.parametrize("kind", ["lines gz", "csv", "parquet", "oscar", "warc", "wiki bz2"])
def test_a_record_that_is_there_twice_is_told_with_both_places(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lake").mkdir()
    good, mill = GOOD[kind], Mill(tmp_path / "lake")
    mill.raw(f"b/{good.name}", good.pack([*good.records[:3], good.records[1]]))
    reader = replace(good.reader, source="pages")  # type: ignore[type-var]  # each reader is a dataclass
    source = replace(mill.source(), convert=reader, select=None)
    monkeypatch.setattr(grinder, "find_recipe", lambda *_: source)
    place = r"sources/pages/v0/documents/2024/b/[a-z0-9.]+\.jsonl\.gz row"
    raw = rf"\(b/{re.escape(good.name)}, (bytes|rows) \d+-\d+\)"
    twice = rf"1 ids occur twice; the first: .* in {place} 1 {raw} and in {place} 3 {raw};"
    with pytest.raises(DataError, match=twice):
        mill.make(ConversionStep(source, SNAPSHOT, ()))


def under(frames: int, what: Callable[[], Result | None]) -> Result | None:
    """What a call gives under a deeper stack, as in another engine."""
    return what() if not frames else under(frames - 1, what)


JSON_ROWS = [
    "lines",
    "lines gz",
    "latex",
    "webdataset",
    "energon",
    "turns",
    "dolma",
    "array",
    "oscar",
    "chats",
    "trees",
]
XML_FILES = ["wiki", "wiki bz2", "posts"]
XML_RECORDS = ["papers", "chapters", "chapters tar"]


def bad_json(inner: bytes) -> Callable[[bytes], bytes]:
    """A damage of a JSON row: something more before its last brace."""
    return lambda record: record.rstrip(b"\n")[:-1] + inner + b"}\n"


BAD_JSON: dict[str, Callable[[bytes], bytes]] = {
    "comment": bad_json(b" /* a comment */"),
    "trailing comma": bad_json(b","),
    "NaN": bad_json(b',"more":NaN'),
    "Infinity": bad_json(b',"more":-Infinity'),
    "too large a number": bad_json(b',"more":1e400'),
    "too long an integer": bad_json(b',"more":' + b"9" * 5000),
    "a key twice": bad_json(b',"more":1,"more":2'),
    "a key twice inside": bad_json(b',"more":[{"a":1,"a":2}]'),
    "a lone surrogate": bad_json(b',"more":"\\ud800"'),
    "a lone surrogate in a key": bad_json(b',"\\udc00":1'),
    "a control character": bad_json(b',"more":"\x01"'),
    "another quote": lambda record: record.replace(b'"', b"'"),
    "a list": lambda _: b"[1]\n",
    "null": lambda _: b"null\n",
}


@pytest.mark.parametrize("kind", JSON_ROWS)
@pytest.mark.parametrize("damage", BAD_JSON)
def test_a_row_that_is_no_json_is_refused_alone_and_never_repaired(kind: str, damage: str) -> None:
    good = GOOD[kind]
    records = list(good.records)
    records[5] = BAD_JSON[damage](records[5])
    found = attempt(good, good.pack(records))
    assert found is not None
    assert (len(found.ids), found.refused, found.left_out) == (COUNT - 1, 1, 0)


BAD_XML: dict[str, tuple[bytes, bytes]] = {
    "an entity": (b'<!DOCTYPE x [<!ENTITY e "aaaa">]>', b"&e;"),
    "an external entity": (b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>', b"&e;"),
    "an external parameter": (b'<!DOCTYPE x [<!ENTITY % e SYSTEM "file:///etc/hostname"> %e;]>', b""),
    "an unknown entity": (b"", b"&e;"),
    "an impossible character": (b"", b"&#0;"),
    "an open element": (b"", b"<b>"),
    "300 levels": (b"", b"<b>" * 300 + b"</b>" * 300),
    "an unknown encoding": (b'<?xml version="1.0" encoding="klingon"?>', b""),
}


@pytest.mark.parametrize("kind", [*XML_FILES, *XML_RECORDS])
@pytest.mark.parametrize("damage", BAD_XML)
def test_xml_with_entities_or_damages_is_an_error_of_the_file_or_a_refused_record(kind: str, damage: str) -> None:
    good = GOOD[kind]
    head, body = BAD_XML[damage]
    records = list(good.records)
    records[5] = records[5].replace(b"fine", b"fine" + body)
    if kind in XML_RECORDS:
        records[5] = head + records[5]
        found = attempt(good, good.pack(records))
        assert found is not None
        assert (len(found.ids), found.refused) == (COUNT - 1, 1)
        return
    data = good.pack(records)
    plain = bz2.decompress(data) if kind.endswith("bz2") else data
    plain = head + plain[plain.find(b"?>") + 2 if plain.startswith(b"<?xml") else 0 :]
    assert attempt(good, bz2.compress(plain) if kind.endswith("bz2") else plain) is None


@pytest.mark.parametrize("kind", JSON_ROWS)
@pytest.mark.parametrize("more", [0, 1, 600, 900])
def test_a_row_of_too_many_levels_is_refused_whatever_the_stack(kind: str, more: int) -> None:
    good = GOOD[kind]
    levels = LEVELS - 1 + more  # and the row itself
    records = list(good.records)
    records[5] = records[5].rstrip(b"\n")[:-1] + b',"deep":' + b"[" * levels + b"]" * levels + b"}\n"
    data = good.pack(records)
    found = [under(frames, lambda: attempt(good, data)) for frames in (0, 300)]
    assert found[0] == found[1]
    assert found[0] is not None
    assert (len(found[0].ids), found[0].refused) == ((COUNT, 0) if not more else (COUNT - 1, 1))
