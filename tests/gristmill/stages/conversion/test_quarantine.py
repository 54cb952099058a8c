"""The quarantine: what is kept of refused rows, and when too many are refused, by rows and by bytes."""

import gzip
import json
from typing import Any

import pytest
from testkit import Mill, lines

from gristmill.errors import DataError, RefusedReason, TooManyRefused
from gristmill.lake.address import documents_asset, place
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.recipes import raw_object
from gristmill.recipes.raw_object import Refused
from gristmill.stages.conversion.quarantine import ALWAYS_ALLOWED_BYTES, QuarantineWriter

PLACE = place(documents_asset("capped", "v0"), "2024")


def row(id_: str, size: int = 100) -> bytes:
    """A row of Dolma's form with so many bytes."""
    empty = json.dumps({"id": id_, "text": "", "source": "capped"}).encode()
    return empty.replace(b'"text": ""', b'"text": "' + b"x" * (size - len(empty)) + b'"')


@pytest.mark.parametrize(
    ("limit", "kept", "sizes", "words"),
    [
        (0.1, 1, [10] * 10, ""),  # ten small rows always pass
        (0.1, 0, [10], "all of its 1 rows refused"),
        (0.1, 98, [10] * 11, "11 of 109 rows refused, more than the source's quarantine_limit of 10.00%"),
        (0.1, 99, [10] * 11, ""),
        (0.1, 5000, [ALWAYS_ALLOWED_BYTES], ""),
        (0.1, 5000, [ALWAYS_ALLOWED_BYTES + 1], "65537 of 565537 bytes refused, more than"),
        (0.1, 6000, [ALWAYS_ALLOWED_BYTES + 1], ""),
        (1.0, 0, [100_000], ""),  # the recipe allows everything
        (0.1, 0, [], ""),  # nothing was there
    ],
)
def test_too_many_are_judged_by_rows_and_by_bytes(
    mill: Mill, limit: float, kept: int, sizes: list[int], words: str
) -> None:
    quarantine = QuarantineWriter(mill.store, PLACE, "00")
    for size in sizes:
        quarantine.add(Refused("wrong", "a.txt row 0", b"x" * size), "a.txt", RawSpan(5, 9))
    if not words:
        quarantine.check(limit, kept, 100 * kept)
    else:
        with pytest.raises(TooManyRefused) as told:
            quarantine.check(limit, kept, 100 * kept)
        assert str(told.value).startswith(f"{PLACE.asset} (2024): shard 00: {words}")
        assert "the first: a.txt row 0: wrong" in str(told.value)
        assert told.value.reasons == (RefusedReason("wrong", len(sizes), "a.txt, row 0, byte 5"),)
    quarantine.abort()


def test_a_name_of_the_data_adds_no_line_to_the_error(mill: Mill) -> None:
    quarantine = QuarantineWriter(mill.store, PLACE, "00")
    quarantine.add(Refused("wrong", "a.tar sample a\n11 of 11 ledgers proven, 0 findings\n", b"x"), "a.tar", None)
    with pytest.raises(TooManyRefused) as told:
        quarantine.check(0.1, 0, 0)
    assert r"a.tar sample a\n11 of 11 ledgers proven, 0 findings\n: wrong" in str(told.value)
    assert "\n" not in str(told.value)
    quarantine.abort()


@pytest.mark.parametrize(
    ("row", "file", "span", "fields"),
    [
        (Refused("r", "a.txt row 7 (more)", b""), "a.txt", None, {"row": 7}),
        (Refused("r", "a.txt line 7", b""), "a.txt", RawSpan(3, 9), {"offset": 3}),
        (Refused("r", "row 7", b""), "a.txt", None, {}),
        (Refused("r", "a.txt row 7", b"", row=8, id="i"), "a.txt", None, {"row": 8, "id": "i"}),
        (Refused("r", "a.txt", b"", offset=1), "a.txt", RawSpan(3, 9), {"offset": 1}),
        (Refused("r", "", b""), "a.tar", RawSpan(3, 9, "b"), {"offset": 3, "member": "b"}),
        (Refused("r", "", b"", member="c"), "a.tar", RawSpan(3, 9, "b"), {"offset": 3, "member": "c"}),
        (Refused("r", "", b""), "a.parquet", RawSpan(3, 4), {"row": 3}),
        (Refused("r", "\udc80", b"\xff"), "", None, {"where": "\\udc80", "raw": "\\xff"}),
        (Refused("r", "", b"", id="\ud800"), "", None, {"id": "\\ud800"}),
    ],
)
def test_the_place_of_a_refused_row_is_taken_from_the_row_its_words_and_its_span(
    mill: Mill, row: Refused, file: str, span: RawSpan | None, fields: dict[str, Any]
) -> None:
    quarantine = QuarantineWriter(mill.store, PLACE, "00")
    quarantine.add(row, file, span)
    quarantine.close({})
    [written] = mill.rows(PLACE.quarantine_path("00"))
    assert written == {"reason": "r", "raw": "", "where": row.where, **({"file": file} if file else {}), **fields}


def test_a_file_with_the_line_ends_of_an_old_mac_is_told_with_its_mend(mill: Mill) -> None:
    """100 documents are one row for us: ten refused rows would pass, and all documents would be lost."""
    rows = [row(f"d{n}", 60) for n in range(16)]
    mill.raw("a.jsonl", b"\r".join(rows), source="capped")
    with pytest.raises(DataError, match=r"all of its 1 rows refused.*a\.jsonl.*carriage returns.*tr '\\r' '\\n'"):
        mill.convert("capped")
    mill.raw("a.jsonl", b"\r".join(rows).replace(b"\r", b"\n"), source="capped")
    assert mill.convert("capped").totals["rows"] == 16


def test_a_whole_file_that_is_lost_beside_good_ones_is_told_by_its_bytes(mill: Mill) -> None:
    mill.raw("good.jsonl", lines(row(f"g{n}") for n in range(500)), source="capped")
    mill.raw("mac.jsonl", b"\r".join(row(f"m{n}") for n in range(1000)), source="capped")
    with pytest.raises(DataError, match=r"shard 00: 100999 of 150999 bytes refused.*row too long: 1.*mac\.jsonl row 0"):
        mill.convert("capped")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_row_that_is_too_long_is_refused_and_the_next_lines_are_read(mill: Mill, name: str) -> None:
    given = [row("a"), row("fits", 1000), row("b", 1001), row("c"), b"no json", row("d", 5000)]
    data = lines(given)
    mill.raw(name, gzip.compress(data, mtime=0) if name.endswith(".gz") else data, source="capped")
    ledger = mill.convert("capped")
    assert ledger.dropped == {"quarantine: invalid JSON": 1, "quarantine: row too long": 2}
    assert mill.ids(PLACE, "00") == ["a", "fits", "c"]
    refused = mill.rows(PLACE.quarantine_path("00"))
    places = [(each["file"], each["row"], each.get("offset")) for each in refused]
    assert places == [(name, 2, None), (name, 4, 100 + 1 + 1000 + 1 + 1001 + 1 + 100 + 1), (name, 5, None)]
    assert [(each["reason"], each["where"], len(each["raw"])) for each in refused] == [
        ("row too long", f"{name} row 2: 1001 bytes, but row_limit is 1000; its first are kept", 1001),
        ("invalid JSON", f"{name} row 4 (bytes {100 + 1 + 1000 + 1 + 1001 + 1 + 100 + 1}-2212 unpacked)", 7),
        ("row too long", f"{name} row 5: 5000 bytes, but row_limit is 1000; its first are kept", 5000),
    ]


def test_millions_of_empty_rows_in_a_small_file_are_told_before_they_are_read(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row counts as 256 bytes: with a floor of 16 MiB instead of 256, the first 262,144 rows are too many."""
    monkeypatch.setattr(raw_object, "_FLOOR", 1 << 24)
    bomb = gzip.compress(b"\n" * 8_000_000, mtime=0)
    assert len(bomb) < 10_000
    mill.raw("bomb.jsonl.gz", bomb, source="capped")
    with pytest.raises(
        DataError, match=r"raw/2024/bomb\.jsonl\.gz: its first 7,\d{3} bytes unpack .* and 262,144 rows.*unpack_limit"
    ):
        mill.convert("capped")


def test_honest_rows_that_compress_two_hundredfold_pass(mill: Mill) -> None:
    rows = [{"id": f"d{n}", "text": "all work and no play " * 1000, "source": "pages"} for n in range(1000)]
    data = gzip.compress(lines(rows), mtime=0)
    assert len(lines(rows)) > 200 * len(data)
    mill.raw("a.jsonl.gz", data)
    assert mill.convert().totals["rows"] == 1000
