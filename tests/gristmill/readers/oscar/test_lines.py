import gzip
import re
from pathlib import Path

import msgspec
import pytest
import zstandard
from oscarlines import as_written, make_line, real_parts

from gristmill.errors import DataError, RecipeError
from gristmill.formats.oscar.compose import compose_line
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan, SpannedRows
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.oscar.lines import CHECKSUMS, PARTS, OscarLines
from gristmill.recipes.raw_object import Converted, Copied, Limits, RawObject, Refused

READER = OscarLines(source="oscar", schema="22.01")
LINES = [as_written(make_line(number)) for number in range(3)]
ROWS = b"".join(line + b"\n" for line in LINES)


def read(
    tmp_path: Path, data: bytes, name: str = "de.jsonl", reader: OscarLines = READER, row: int = Limits().row
) -> tuple[list[Converted], RawObject]:
    store = FolderStore(str(tmp_path))
    store.put(name, data)
    raw = RawObject(store, name, name, len(data), Limits(row=row))
    return list(reader(raw)), raw


def composed(rows: list[Converted]) -> list[bytes]:
    assert all(isinstance(row, Copied) for row in rows)
    return [compose_line(msgspec.json.decode(row.line, type=Document)) for row in rows if isinstance(row, Copied)]


def test_every_line_of_the_real_parts_comes_back() -> None:
    parts = real_parts()
    store = FolderStore(str(parts[0].parents[1]))
    count = 0
    for part in parts:
        name = f"{part.parent.name}/{part.name}"
        rows = list(READER(RawObject(store, name, name, part.stat().st_size)))
        lines = composed(rows)
        assert b"\n".join([*lines, b""]) == gzip.decompress(part.read_bytes())
        count += len(lines)
    assert count == 28


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_every_packing_is_read(tmp_path: Path, schema: str) -> None:
    lines = [as_written(make_line(number, schema)) for number in range(3)]
    plain = b"\n".join(lines)
    reader = OscarLines(source="oscar", schema=schema)  # type: ignore[arg-type]  # one of the two
    frames = b"".join(zstandard.compress(line + b"\n") for line in lines)
    members = b"".join(gzip.compress(line + b"\n", mtime=0) for line in lines)
    for name, data in (
        ("de.jsonl", plain),
        ("de_meta_part_1.jsonl.gz", members),
        ("de_meta_part_1.jsonl.zst", frames),
        ("de_meta_part_2.jsonl.zstd", zstandard.compress(plain)),
    ):
        rows, raw = read(tmp_path, data, name, reader)
        assert composed(rows) == lines
        assert raw.counts == {}


def test_zstandard_with_a_window_of_256_mib_is_read(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=28, enable_ldm=False)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()  # no size: the window counts
    data = packer.compress(ROWS) + packer.flush()
    with pytest.raises(zstandard.ZstdError, match="too much memory"):
        zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj().decompress(data)
    assert composed(read(tmp_path, data, "de.jsonl.zst")[0]) == LINES


def test_a_line_that_is_not_valid_is_refused_with_its_place_and_the_others_are_kept(tmp_path: Path) -> None:
    broken = {
        LINES[1].replace(b"null,", b"null,,", 1): ("invalid JSON", ""),
        LINES[1][:-1] + b",}": ("invalid JSON", "trailing comma"),
        b"// a comment": ("invalid JSON", ""),
        b"": ("empty line", ""),
        LINES[1].replace(b'"prob":0.8', b'"prob":"0.8"'): (
            "wrong type at $.metadata.sentence_identifications[].prob",
            "$.metadata.sentence_identifications[0].prob",
        ),
        LINES[1].replace(b'"content"', b'"contents"'): ("missing key $.content", ""),
        LINES[1].replace(b'{"label":"de","prob":0.8}', b"null,null"): (
            "lines and identifications differ in number",
            "4 lines of $.content, 5 of $.metadata.sentence_identifications",
        ),
    }
    for line, (reason, detail) in broken.items():
        rows, _ = read(tmp_path, LINES[0] + b"\n" + line + b"\n" + LINES[2] + b"\n")
        first, refused, last = rows
        assert composed([first, last]) == [LINES[0], LINES[2]]
        assert isinstance(refused, Refused)
        assert (refused.reason, refused.raw) == (reason, line)
        start = len(LINES[0]) + 1
        assert refused.where.startswith(f"de.jsonl row 1 (bytes {start}-{start + len(line)} unpacked)")
        assert detail in refused.where


def test_unknown_labels_and_extra_keys_are_counted(tmp_path: Path) -> None:
    lines = [as_written(make_line(n, identification={"label": "zzz", "prob": 1.0}, note=n)) for n in range(2)]
    rows, raw = read(tmp_path, b"\n".join(lines))
    assert composed(rows) == lines
    assert raw.counts == {"unknown label zzz": 2, "extra key $.metadata.note": 2}


def test_more_counters_than_people_read_are_gathered(tmp_path: Path) -> None:
    lines = [as_written(make_line(n) | {f"key{n}": 0}) for n in range(103)]
    _, raw = read(tmp_path, b"\n".join(lines))
    assert len(raw.counts) == 101
    assert raw.counts["others"] == 3


def test_a_line_longer_than_the_limit_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    long = as_written(make_line(content="x" * 5000))
    rows, raw = read(tmp_path, LINES[0] + b"\n" + long + b"\n" + LINES[2], row=4000)
    assert composed(rows) == [LINES[0], LINES[2]]
    assert [(row.reason, row.size) for row in raw.refused] == [("row too long", len(long))]


def test_a_truncated_part_is_an_error(tmp_path: Path) -> None:
    for name, data in (("de.jsonl.gz", gzip.compress(ROWS, mtime=0)), ("de.jsonl.zst", zstandard.compress(ROWS))):
        with pytest.raises(DataError, match=f"{name}: the file ends in the middle"):
            read(tmp_path, data[:-9], name)


def test_options_are_checked() -> None:
    with pytest.raises(RecipeError, match=r"OscarLines of source 'oscar': schema is '21\.09'"):
        OscarLines(source="oscar", schema="21.09")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["en/en_part_1.jsonl.gz", "af.jsonl", "fr_meta/fr_meta_part_12.jsonl.zst", "x-eml.jsonl.gz"]
)
def test_the_pattern_of_parts_matches_parts_alone(name: str) -> None:
    assert re.search(PARTS, name)
    assert not re.search(CHECKSUMS, name)


@pytest.mark.parametrize("name", ["en/en_sha256.txt", "checksum.sha384", "en/checksum.sha384"])
def test_the_pattern_of_checksum_files_matches_them_alone(name: str) -> None:
    assert re.search(CHECKSUMS, name)
    assert not re.search(PARTS, name)


def test_lines_at_once_are_the_lines_one_by_one(tmp_path: Path) -> None:
    lines = [as_written(make_line(number)) for number in range(300)]
    lines[7] = lines[280] = b"no JSON"
    lines[20] += b" "
    data = b"\xef\xbb\xbf" + b"\n".join(lines)
    store = FolderStore(str(tmp_path))
    store.put("de.jsonl", data)
    raw, again = (RawObject(store, "de.jsonl", "de.jsonl", len(data)) for _ in range(2))
    expected = [(row, raw.take_raw_span()) for row in READER(raw)]
    found: list[object] = []
    for row in READER.blocks(again):
        span = again.take_raw_span()
        if isinstance(row, SpannedRows):
            texts = row.rows.split(b"\n")[:-1]
            spans = map(RawSpan, row.starts, row.ends)
            copies = (Copied(id_, source, text) for (source, id_), text in zip(row.pairs, texts, strict=True))
            found += zip(copies, spans, strict=True)
        else:
            found.append((row, span))
    assert found == expected
    assert len(found) == 300
    assert raw.counts == again.counts
