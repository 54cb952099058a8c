import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.store.folder import FolderStore
from gristmill.raw_data.listing import by_shard, list_raw
from gristmill.raw_data.scan import pass_over, present
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.shelf import find, read_shelf
from gristmill.recipes.source import Everything, Folders, Hashed, Matching, OneToOne, Revision, Source
from gristmill.stages.conversion.step import ConversionStep


def notes(mill: Mill, *lines: str, name: str = "a.txt") -> None:
    mill.raw(name, "\n".join(lines).encode(), source="notes")


def all_rows(mill: Mill, source: str) -> list[dict[str, Any]]:
    where = mill.documents(source=source)
    return [row for shard in mill.table(where) for row in mill.rows(where.shard(shard))]


# what stands where


def test_a_raw_object_becomes_a_shard_of_its_name(mill: Mill) -> None:
    for name in ("a.jsonl.gz", "b/c.json.gz", "d.jsonl.zst", "e"):
        stem = name.partition(".")[0]
        rows = [{"id": stem, "text": "t"}]
        data = gzip.compress(json.dumps(rows[0]).encode()) if name.endswith(".gz") else b""
        mill.raw(name, data if name.endswith(".gz") else b'{"id":"e","text":"t"}' if name == "e" else _zst(rows[0]))
    mill.convert()
    assert sorted(mill.table(mill.documents())) == ["a", "b/c", "d", "e"]
    assert mill.ids(mill.documents(), "b/c") == ["b/c"]


def _zst(row: dict[str, str]) -> bytes:
    import zstandard

    return zstandard.compress(json.dumps(row).encode() + b"\n")


def test_two_raw_objects_of_one_shard_are_an_error_that_names_both(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(1))
    mill.raw("a.json.gz", make_documents(1))
    with pytest.raises(DataError, match=r"a\.json\.gz and a\.jsonl\.gz would both become a\.jsonl\.gz"):
        mill.convert()


def test_hashed_shards_do_not_move_when_others_arrive() -> None:
    rule = Hashed(10)
    before = {name: rule.shard(name) for name in ("a", "b", "c")}
    assert {name: rule.shard(name) for name in ("a", "b", "c", "d")}.items() >= before.items()
    assert {rule.shard(str(n)) for n in range(500)} == {f"{n:02d}" for n in range(10)}


def test_a_hashed_shard_holds_its_objects_in_the_order_of_their_names(mill: Mill) -> None:
    for name in "fedcba":
        notes(mill, f"{name} text", name=f"{name}.txt")
    ledger = mill.convert("notes")
    assert ledger.totals["rows"] == 6
    for shard in mill.table(mill.documents(source="notes")).values():
        inputs = [each.shard for each in shard.inputs]
        assert inputs == sorted(inputs)
        assert mill.ids(mill.documents(source="notes"), shard.name) == [name[0] for name in inputs]


def test_hidden_files_and_what_the_source_does_not_select_are_left(mill: Mill) -> None:
    for name in ("a.jsonl.gz", ".hidden.jsonl.gz", ".git/a.jsonl.gz", "readme.md"):
        mill.raw(name, make_documents(1))
    source = replace(mill.source(), select=r"\.jsonl\.gz$")
    assert list(list_raw(source, mill.store, SNAPSHOT).entries) == ["a.jsonl.gz"]


@pytest.mark.parametrize(
    ("rule", "snapshots"),
    [
        (Folders(), {"2023": 1, "2024": 2}),
        (Folders(2), {"2023.en": 1, "2024.en": 1, "2024.fr": 1}),
        (Matching(r"^\d+/(?P<snapshot>[a-z]+)/"), {"en": 2, "fr": 1}),
        (Everything(), {"all": 4}),
    ],
)
def test_snapshots_are_found_by_the_sources_rule(
    mill: Mill, rule: Folders | Matching | Everything, snapshots: dict[str, int]
) -> None:
    for name in ("2023/en/a.txt", "2024/en/a.txt", "2024/fr/a.txt", "lonely.txt"):
        mill.store.put(raw_folder("pages") + name, b"")
    source = replace(mill.source(), partition=rule)
    found = pass_over(source, mill.store)
    assert {key: each.objects for key, each in present(source, found).items()} == snapshots
    assert found.trouble == {}
    listed = {key: list(list_raw(source, mill.store, key).entries) for key in snapshots}
    assert {key: len(names) for key, names in listed.items()} == snapshots


def test_folders_that_make_no_snapshot_are_told_of(mill: Mill) -> None:
    for name in ("2024/a.txt", "a b/a.txt", "x.run/a.txt"):
        mill.store.put(raw_folder("pages") + name, b"")
    found = pass_over(mill.source(), mill.store)
    assert {key: each.objects for key, each in found.seen.items()} == {"2024": 1}
    assert sorted(found.trouble) == ["a b", "x.run"]
    assert found.astray == 2


def test_raw_data_elsewhere_are_read_and_never_written(mill: Mill, tmp_path: Path) -> None:
    elsewhere = FolderStore(str(tmp_path / "elsewhere"))
    elsewhere.put("2024/a.jsonl", b'{"id":"a","text":"t"}\n')
    source = replace(mill.source(), raw=elsewhere.url)
    assert list(list_raw(source, elsewhere, SNAPSHOT).entries) == ["a.jsonl"]
    assert by_shard(source, list_raw(source, elsewhere, SNAPSHOT)) == {"a": ["a.jsonl"]}


# what a converter may do


def test_a_converter_that_reads_nothing_of_its_raw_object_is_no_error(mill: Mill) -> None:
    mill.raw("a", b"some bytes", source="unread")
    mill.raw("b", b"", source="unread")
    mill.convert("unread")
    assert mill.ground == ["a", "b"]
    mill.convert("unread")
    assert mill.ground == []


@pytest.mark.parametrize("pieces", [0, 1, 2, 99])
def test_a_raw_objects_digest_is_of_all_its_bytes_however_many_were_read(mill: Mill, pieces: int) -> None:
    import hashlib

    data = bytes(range(256)) * 12_000
    mill.store.put("a", data)
    raw = RawObject(mill.store, "a", "a", len(data))
    if pieces:
        chunks = raw.chunks()
        for _ in zip(range(pieces), chunks, strict=False):
            pass
    assert raw.sha256() == hashlib.sha256(data).hexdigest()


def test_refused_rows_lie_in_quarantine_and_are_counted(mill: Mill) -> None:
    words = [f"n{n} some text" for n in range(20)]
    notes(mill, *words, "r1 !refuse", "r2 !refuse", "s !surrogate", "z !nul", "i !number", "t !time")
    ledger = mill.convert("notes")
    assert ledger.totals["rows"] == 20
    assert ledger.totals["quarantined"] == 6
    assert ledger.dropped == {
        "quarantine: NUL in text or id": 1,
        "quarantine: added or created is no string": 1,
        "quarantine: asked for": 2,
        "quarantine: id, source or text is no string": 1,
        "quarantine: lone surrogate": 1,
    }
    where = mill.documents(source="notes")
    (shard,) = (shard for shard in mill.table(where).values() if shard.rows)
    refused = mill.rows(where.quarantine(shard.name))
    assert refused[0] == {"reason": "asked for", "raw": "r1 !refuse", "where": "a.txt line 20"}
    assert [row["reason"] for row in refused] == [
        "asked for",
        "asked for",
        "lone surrogate",
        "NUL in text or id",
        "id, source or text is no string",
        "added or created is no string",
    ]


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


def test_ten_refused_rows_are_let_pass_whatever_their_share(mill: Mill) -> None:
    notes(mill, *[f"r{n} !refuse" for n in range(10)])
    assert mill.convert("notes").totals["quarantined"] == 10


def test_a_converter_that_raises_names_the_raw_object(mill: Mill) -> None:
    notes(mill, "a text", "b !raise")
    with pytest.raises(DataError, match=r"sources/notes/raw/2024/a\.txt: the converter failed \(KeyError: 'b'\)"):
        mill.convert("notes")
    assert [path for path in mill.tree() if "/documents/" in path and path.endswith(".jsonl.gz")] == []


def test_metadata_that_is_no_json_names_the_document(mill: Mill) -> None:
    notes(mill, "a text", "b !set")
    with pytest.raises(DataError, match="id 'b': metadata is not valid JSON"):
        mill.convert("notes")


@pytest.mark.parametrize("left", [0, 5, 40, -9, -1])
def test_a_truncated_raw_object_leaves_nothing_half_visible(mill: Mill, left: int) -> None:
    mill.raw("good.jsonl.gz", make_documents(5))
    data = gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in make_documents(500, start=100)))
    mill.raw("bad.jsonl.gz", data[:left])
    with pytest.raises(DataError, match=r"bad\.jsonl\.gz: .*(truncated|not valid gzip)"):
        mill.convert()
    left_behind = [path for path in mill.tree() if "bad" in path and "/raw/" not in path]
    assert left_behind == []
    assert list((mill.root / ".incoming").iterdir()) == []
    mill.raw("bad.jsonl.gz", data)
    assert mill.convert().totals["rows"] == 505
    assert mill.ground == ["bad"]


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


# declarations


def test_a_wrong_name_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"no 'pagse' on this shelf; it has .*notes, .*pages"):
        find("sources", Source, SHELVES, "pagse")


def test_a_module_with_two_declarations_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "othershelf" / "sources"
    shelf.mkdir(parents=True)
    (shelf / "both.py").write_text(
        "from gristmill.recipes.source import Source\n"
        "ONE = Source(name='one', convert=list)\nTWO = Source(name='two', convert=list)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RecipeError, match=r"othershelf\.sources\.both: .*exactly one Source, this one 2"):
        read_shelf("sources", Source, ("othershelf",))


def test_a_source_whose_revisions_skip_a_number_is_refused() -> None:
    with pytest.raises(RecipeError, match="revisions are v2; name them v1, in order"):
        Source(name="a", convert=lambda _: [], revisions=(Revision(version="v2"),))


def test_what_does_not_change_the_output_does_not_change_the_recipe(mill: Mill) -> None:
    source = mill.source()
    same = replace(source, description="words", owners=("team:a",), quarantine_limit=0.5)
    step = ConversionStep(source, SNAPSHOT, SHELVES)
    assert ConversionStep(same, SNAPSHOT, SHELVES).recipe == step.recipe
    other = replace(source, shards=Hashed(2))
    assert ConversionStep(other, SNAPSHOT, SHELVES).recipe != step.recipe
    assert OneToOne().parameters() == ["one-to-one"]
