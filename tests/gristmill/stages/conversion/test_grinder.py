import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from testkit import SHELVES, SNAPSHOT, Meanwhile, Mill, make_documents, notes

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule, field
from gristmill.stages.conversion import grinder
from gristmill.stages.conversion.step import ConversionStep


def test_a_converter_that_reads_nothing_of_its_raw_object_is_no_error(mill: Mill) -> None:
    mill.raw("a", b"some bytes", source="unread")
    mill.raw("b", b"", source="unread")
    mill.convert("unread")
    assert mill.ground == ["a", "b"]
    mill.convert("unread")
    assert mill.ground == []


def test_refused_rows_lie_in_quarantine_and_are_counted(mill: Mill) -> None:
    words = [f"n{n} some text" for n in range(20)]
    notes(
        mill,
        *words,
        "r1 !refuse",
        "r2 !refuse",
        "s !surrogate",
        "z !nul",
        "i !number",
        "t !time",
        "l !list",
        " nameless",
    )
    ledger = mill.convert("notes")
    assert ledger.totals["rows"] == 20
    assert ledger.totals["quarantined"] == 8
    assert ledger.dropped == {
        "quarantine: NUL in id": 1,
        "quarantine: added or created is no string": 1,
        "quarantine: asked for": 2,
        "quarantine: id, source or text is no string": 1,
        "quarantine: lone surrogate": 1,
        "quarantine: metadata is no object": 1,
        "quarantine: no id": 1,
    }
    where = mill.documents(source="notes")
    (shard,) = (shard for shard in mill.table(where).values() if shard.rows)
    refused = mill.rows(where.quarantine_path(shard.name))
    asked = {"reason": "asked for", "raw": "r1 !refuse", "where": "a.txt line 20", "file": "a.txt"}
    assert refused[0] == asked
    assert [row.get("id") for row in refused if row["reason"] in {"lone surrogate", "no id"}] == ["s", None]
    assert [row["reason"] for row in refused] == [
        "asked for",
        "asked for",
        "lone surrogate",
        "NUL in id",
        "id, source or text is no string",
        "added or created is no string",
        "metadata is no object",
        "no id",
    ]


def test_what_is_left_out_is_counted_and_never_makes_a_shard_fail(mill: Mill) -> None:
    notes(mill, "a text", *(f"n{n} !leave" for n in range(50)))
    ledger = mill.convert("notes")
    assert ledger.totals["rows"] == 1
    assert ledger.dropped == {"left out: asked for": 50}
    notes(mill, *(f"n{n} !leave" for n in range(50)))
    assert mill.convert("notes").totals["rows"] == 0  # a file of images alone is an honest file


def test_a_converter_that_panics_fails_its_shard_by_the_name_of_the_raw_object(mill: Mill) -> None:
    notes(mill, "a text", "b !panic")
    with pytest.raises(
        DataError, match=r"raw/2024/a\.txt: the converter failed \(PanicException: Onig.*notes\.py, line 25\)"
    ):
        mill.convert("notes")
    assert mill.store.head(mill.documents(source="notes").ledger) is None


def test_a_quarantine_goes_when_nothing_is_refused_any_more(mill: Mill) -> None:
    notes(mill, "a text", "b !refuse")
    mill.convert("notes")
    assert any("/quarantine/" in path for path in mill.tree())
    notes(mill, "a text", "b text")
    mill.convert("notes")
    assert not any("/quarantine/" in path for path in mill.tree())


def test_too_many_refused_rows_fail_the_shard_and_say_which(mill: Mill) -> None:
    mill.raw("good.txt", b"g text", source="notes")
    notes(mill, *[f"n{n} text" for n in range(90)], *[f"r{n} !refuse" for n in range(11)])
    with pytest.raises(
        DataError, match=r"11 of 10[12] rows refused.*quarantine_limit of 10\.00%.*asked for: 11.*a\.txt line 90"
    ):
        mill.convert("notes")
    assert not any("/quarantine/" in path for path in mill.tree())


def test_ten_refused_rows_are_let_pass_whatever_their_share_if_a_row_is_kept(mill: Mill) -> None:
    notes(mill, "a text", *[f"r{n} !refuse" for n in range(10)])
    assert mill.convert("notes").totals["quarantined"] == 10


def test_a_shard_that_keeps_nothing_fails_after_one_refused_row(mill: Mill) -> None:
    notes(mill, "r !refuse")
    what = r"all of its 1 rows refused, so nothing would be left.*a\.txt line 0.*leave the file out by `select`"
    with pytest.raises(DataError, match=what):
        mill.convert("notes")


def test_an_empty_file_that_is_a_shard_alone_loses_nothing(mill: Mill) -> None:
    mill.raw("empty.txt", b"", "notes")
    ledger = mill.convert("notes")
    assert (ledger.totals["rows"], ledger.dropped) == (0, {"quarantine: empty text": 1})


@pytest.mark.parametrize(
    ("word", "kind", "named"),
    [
        ("!memory", StoreError, r"shard 0\d: out of memory"),
        (
            "!dict",
            RecipeError,
            r"the converter yielded a dict, \{'id': 'b'.*a Refused row or a LeftOut",
        ),
        ("!none", RecipeError, r"a LeftOut is \(reason: str, records: int\), with at least 1 record, not LeftOut\("),
        ("!text", RecipeError, r"a Refused row is \(reason: str, where: str, raw: bytes\), not Refused\("),
    ],
)
def test_memory_and_wrong_types_are_told_as_what_they_are(
    mill: Mill, word: str, kind: type[GristmillError], named: str
) -> None:
    notes(mill, "a text", f"b {word}")
    with pytest.raises(kind, match=named) as told:
        mill.convert("notes")
    assert "Traceback" not in str(told.value)
    assert "converter failed" not in str(told.value)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("!exit", r"2024/a\.txt: the converter failed \(SystemExit: 0 \(it called sys\.exit\), at .*"),
        ("!close", r"shard 0\d:(.|\n)*notes\.py(.|\n)*GeneratorExit"),
    ],
)
def test_a_converter_that_ends_the_process_fails_its_shard(mill: Mill, word: str, named: str) -> None:
    notes(mill, "a text", f"b {word}")
    with pytest.raises(DataError, match=named):
        mill.convert("notes")


def test_an_integer_of_any_size_keeps_its_digits_through_taggers_and_mixes(mill: Mill) -> None:
    notes(mill, "a !large")
    mill.convert("notes")
    mill.tag("words-1", source="notes")
    stream = Stream(
        source="notes", version="v0", exclude=(Rule("dull", "text = 'dull'", "x"),), columns=(field("text"),)
    )
    mill.mix(stream)
    for where in (mill.documents(source="notes"), mill.stream("notes")):
        [row] = [row for shard in mill.table(where) for row in mill.rows(where.shard(shard))]
        assert row["metadata"] == {"a": 18446744073709551616}


def test_rows_that_lack_their_fields_fail_with_the_names_that_are_there_and_the_mend(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.raw("a.jsonl", b'{"body":"t","key":"a","url":"u"}\n', source="notes")
    source = replace(mill.source("notes"), convert=JsonLines(source="notes", id_key="key"))
    monkeypatch.setattr(grinder, "find_recipe", lambda *_: source)  # the shelf of a team with JSON lines
    mend = r"name them in the recipe: id_key='\.\.\.', format=Text\(text_key='\.\.\.'\)"
    with pytest.raises(DataError, match=rf"row 0 \(the row has: body, key, url\): no field 'text'\. .*{mend}"):
        mill.make(ConversionStep(source, SNAPSHOT, SHELVES))


@pytest.mark.parametrize("left", [0, 5, 40, -9, -1])
def test_a_truncated_raw_object_leaves_nothing_half_visible(mill: Mill, left: int) -> None:
    mill.raw("good.jsonl.gz", make_documents(5))
    data = gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in make_documents(500, start=100)), mtime=0)
    mill.raw("bad.jsonl.gz", data[:left])
    with pytest.raises(DataError, match=r"bad\.jsonl\.gz: .*(truncated|not valid gzip)"):
        mill.convert()
    left_behind = [path for path in mill.tree() if "bad" in path and "/raw/" not in path]
    assert left_behind == []
    assert list((mill.root / ".incoming").iterdir()) == []
    mill.raw("bad.jsonl.gz", data)
    assert mill.convert().totals["rows"] == 505
    assert mill.ground == ["bad"]


@pytest.mark.slow
def test_a_row_of_100_megabytes_and_an_empty_file_pass(mill: Mill) -> None:
    big = b'{"id":"big","text":"' + b"x" * 104_857_600 + b'"}'
    mill.raw("big.jsonl", big)
    mill.raw("empty.jsonl", b"")
    ledger = mill.convert()
    assert (ledger.totals["rows"], ledger.totals["shards"]) == (1, 2)
    mill.tag("words-1")
    (row,) = mill.rows(mill.attributes("words-1").shard("big"))
    assert row["attributes"]["words-1__count"] == [[0, 104_857_600, 1.0]]
    assert mill.rows(mill.attributes("words-1").shard("empty")) == []
    assert mill.revise().totals["rows"] == 0


def test_a_raw_object_that_changes_while_it_is_read_is_tried_again(mill: Mill) -> None:
    from gristmill.errors import StoreError
    from gristmill.execution.runner import Inline
    from gristmill.execution.step import grind, plan

    mill.raw_shards(1)
    planned = plan(mill.conversion(), mill.lake, "one")
    mill.raw("a.jsonl.gz", make_documents(3))
    tally = grind(planned, Inline(), mill.said.append)
    assert [failed.error for failed in tally.failed] == [StoreError.__name__]
    assert mill.convert().totals["rows"] == 3


STARVED = """
import resource, sys
from testkit import SHELVES, Mill
from pathlib import Path
from gristmill.errors import GristmillError
from gristmill.recipes.catalogue import read_catalogue
mill = Mill(Path(sys.argv[1]))
mill.conversion()
read_catalogue(SHELVES)  # a process of its own checks rules, and would inherit the limit
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), resource.RLIM_INFINITY))
try:
    mill.convert()
except GristmillError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_shard_for_which_the_memory_is_not_enough_says_so(mill: Mill) -> None:
    mill.raw("big.jsonl", b'{"id":"big","text":"' + b"x" * (150 << 20) + b'"}')
    given = [sys.executable, "-c", STARVED, str(mill.root)]
    done = subprocess.run(
        given, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.stdout.strip() == "StoreError shard big: out of memory; use fewer workers, or smaller shards"


def test_a_raw_object_that_vanishes_before_it_is_read_is_a_store_error(mill: Mill) -> None:
    mill.raw_shards(1)
    path = "sources/pages/raw/2024/a.jsonl.gz"
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: No such file or directory"):
        mill.convert(engine=Meanwhile(lambda: mill.store.delete([path])))
    assert mill.store.head(mill.documents().shard("a")) is None


def test_raw_bytes_that_changed_within_their_size_are_converted_again(mill: Mill) -> None:
    for number in (1, 2):
        mill.raw("a.jsonl", b'{"id":"%d","source":"pages","text":"x"}\n' % number)
        mill.convert()
        assert mill.ids(mill.documents(), "a") == [str(number)]
