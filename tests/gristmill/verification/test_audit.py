import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from testkit import SHELVES, SNAPSHOT, Mill, lines, packed
from wholelake import (
    CACHE,
    DOCUMENTS,
    REVISED,
    STREAM,
    TOKENIZER,
    WORDS,
    even,
    flip,
    make_cache,
    make_whole,
    reseal,
    reseal_shard,
    rewrite,
    table,
)

from gristmill.execution.finding import Finding
from gristmill.lake.identity import dump_hashes, hashes_of
from gristmill.lake.ledger.files import pack_table
from gristmill.lake.rows.shard_file import ShardWriter, gzip_bytes
from gristmill.recipes.mix import Stream
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.index import index_cache
from gristmill.verification.audit import audit_ledger, audited_ledgers

LEDGERS = [
    "sources/pages/v0/ledgers/documents/2024.json",
    "sources/pages/v0/ledgers/attributes/characters-1/2024.json",
    "sources/pages/v0/ledgers/attributes/words-1/2024.json",
    "sources/pages/v1/ledgers/documents/2024.json",
    "mixes/even/ledgers/pages/2024.json",
    "tokenizers/tiny-1/ledger.json",
    "token_caches/even/tiny-1/ledgers/pages/2024.json",
]
A, B = DOCUMENTS.shard("a"), DOCUMENTS.shard("b")
SET = WORDS.shard("a")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clean") / "lake"
    make_whole(root)
    return root


@pytest.fixture
def mill(clean: Path, tmp_path: Path) -> Mill:
    """A copy of the clean lake, to plant a lie in."""
    shutil.copytree(clean, tmp_path / "lake")
    return Mill(tmp_path / "lake")


def audit(mill: Mill, *, first_only: bool = False) -> tuple[list[Finding], list[str]]:
    notes: list[str] = []
    found: list[Finding] = []
    for path in audited_ledgers(mill.store):
        found += audit_ledger(mill.store, path, notes.append, first_only=first_only)
        if first_only and found:
            break
    return found, notes


def part_object(mill: Mill, end: str) -> str:
    objects: dict[str, object] = table(mill, CACHE)[0].extra["objects"]
    return next(path for path in sorted(objects) if path.endswith(end))


def swap(rows: list[bytes], one: int, other: int) -> list[bytes]:
    rows[one], rows[other] = rows[other], rows[one]
    return rows


def edit(mill: Mill, path: str, old: bytes, new: bytes) -> None:
    data = mill.store.read(path)
    assert old in data
    mill.store.put(path, data.replace(old, new, 1))


def seal_set(mill: Mill, rows: list[bytes]) -> None:
    """Writes a shard of the set anew, and its ledger with it; only the ids' digest stays as it was."""
    writer = ShardWriter(mill.store, SET)
    writer.write(b"".join(row + b"\n" for row in rows))
    new = msgspec.structs.asdict(writer.close())
    del new["etag"]
    reseal_shard(mill, WORDS, "a", **{**new, "members": tuple(new["members"])})


def edit_table(mill: Mill) -> None:
    a, b = table(mill, DOCUMENTS)
    mill.store.put(DOCUMENTS.table, pack_table([msgspec.structs.replace(a, counts={"x": 1}), b]))


def duplicate(mill: Mill) -> None:
    rewrite(mill, DOCUMENTS, "b", [*mill.lines(B), mill.lines(A)[7]])


def bend_index(mill: Mill) -> None:
    index = dump_hashes(hashes_of([("pages", f"other-{n}") for n in range(20)]))
    mill.store.put(DOCUMENTS.index("a"), index)


def wrong_index(mill: Mill) -> None:
    bend_index(mill)
    reseal_shard(mill, DOCUMENTS, "a", index=hashlib.sha256(mill.store.read(DOCUMENTS.index("a"))).hexdigest())


def foreign_row(mill: Mill) -> None:
    rewrite(
        mill,
        REVISED,
        "a",
        [b'{"id":"doc-00002","text":"another text","source":"pages"}', *mill.lines(REVISED.shard("a"))[1:]],
    )


LIES: dict[str, tuple[Callable[[Mill], object], str, int | None, str]] = {
    "a bit flipped in a shard": (lambda m: flip(m, A), A, 0, "its sha256 is"),
    "a bit flipped in a gzip header": (lambda m: flip(m, A, 4), A, None, "its sha256 is"),
    "a shard cut": (lambda m: m.store.put(A, m.store.read(A)[:-9]), A, 0, "the object's bytes are"),
    "a shard that is gone": (lambda m: m.store.delete([A]), A, None, "no such object"),
    "a row that is no document": (
        lambda m: m.store.put(A, packed([*m.lines(A)[:3], b'{"id":7}', *m.lines(A)[4:]])),
        A,
        3,
        "is no document",
    ),
    "an attribute row missing": (
        lambda m: m.store.put(SET, packed(m.lines(SET)[:-1])),
        SET,
        19,
        f"there is no such row, but {A} has id 'doc-00019'",
    ),
    "an attribute row too many": (
        lambda m: m.store.put(SET, packed([*m.lines(SET), m.lines(SET)[0]])),
        SET,
        20,
        "ends before it",
    ),
    "attribute rows swapped": (
        lambda m: m.store.put(SET, packed(swap(m.lines(SET), 4, 5))),
        SET,
        4,
        f"id 'doc-00005' (source 'pages'), but {A} has 'doc-00004'",
    ),
    "attribute rows swapped, ledger and all": (
        lambda m: seal_set(m, swap(m.lines(SET), 4, 5)),
        SET,
        4,
        "id 'doc-00005'",
    ),
    "a span outside of its text": (
        lambda m: seal_set(m, [m.lines(SET)[0].replace(b"[0,4,", b"[0,5,"), *m.lines(SET)[1:]]),
        SET,
        0,
        "a span [0, 5) in a text of 4 characters",
    ),
    "ledger totals edited": (
        lambda m: edit(m, DOCUMENTS.ledger, b'"rows":40', b'"rows":41'),
        DOCUMENTS.ledger,
        None,
        "totals is",
    ),
    "a fingerprint edited": (
        lambda m: edit(m, STREAM.ledger, b'"fingerprint":"', b'"fingerprint":"0'),
        STREAM.ledger,
        None,
        "",
    ),
    "a ledger that is no JSON": (
        lambda m: m.store.put(STREAM.ledger, b"{"),
        STREAM.ledger,
        None,
        "not a ledger",
    ),
    "a table edited": (edit_table, DOCUMENTS.table, None, "its sha256 is"),
    "a table that is gone": (lambda m: m.store.delete([DOCUMENTS.table]), DOCUMENTS.table, None, "there is no table"),
    "a table cut": (
        lambda m: m.store.put(DOCUMENTS.table, m.store.read(DOCUMENTS.table)[:-5]),
        DOCUMENTS.table,
        None,
        "truncated",
    ),
    "a stray shard": (
        lambda m: m.store.put(DOCUMENTS.shard("c"), gzip_bytes(b"")),
        DOCUMENTS.shard("c"),
        None,
        "no ledger names this object",
    ),
    "another index": (bend_index, DOCUMENTS.index("a"), None, "its sha256 is"),
    "another index, ledger and all": (wrong_index, DOCUMENTS.index("a"), None, "it is not the index of the ids"),
    "an index that is gone": (lambda m: m.store.delete([DOCUMENTS.index("b")]), DOCUMENTS.index("b"), None, "no such"),
    "one id in two shards": (duplicate, B, 20, f"stands in {A} row 7 as well"),
    "rows counted wrong": (lambda m: reseal_shard(m, DOCUMENTS, "a", rows=21), A, None, "its rows are 20"),
    "a length counted wrong": (lambda m: reseal_shard(m, DOCUMENTS, "a", length=7), A, None, "its rows' bytes are"),
    "another content digest": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", content="0"),
        A,
        None,
        "its content digest is",
    ),
    "another digest of ids": (lambda m: reseal_shard(m, DOCUMENTS, "a", ids="0"), A, None, "its ids' digest is"),
    "a member that begins elsewhere": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", members=((0, 0), (100, 9))),
        A,
        0,
        "truncated",
    ),
    "members out of order": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", members=((5, 0), (3, 9))),
        A,
        None,
        "the members' offsets",
    ),
    "shards out of order": (
        lambda m: reseal(m, DOCUMENTS, list(reversed(table(m, DOCUMENTS)))),
        DOCUMENTS.table,
        None,
        "not in the order of their names",
    ),
    "a shard of another recipe": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", recipe="0"),
        DOCUMENTS.table,
        None,
        "was made by recipe 0",
    ),
    "a quarantine that is gone": (
        lambda m: m.store.delete([DOCUMENTS.quarantine("a")]),
        DOCUMENTS.quarantine("a"),
        None,
        "no such object",
    ),
    "a quarantine that is not counted": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", dropped={"quarantine: other": 1}),
        DOCUMENTS.quarantine("a"),
        None,
        "refused rows by reason are",
    ),
    "a version with a row of its own": (foreign_row, REVISED.shard("a"), 0, f"does not stand in {A}"),
    "a version with its rows turned": (
        lambda m: rewrite(m, REVISED, "a", swap(m.lines(REVISED.shard("a")), 0, 1)),
        REVISED.shard("a"),
        1,
        f"does not stand in {A} after the row before it",
    ),
    "a version that lost a row": (
        lambda m: rewrite(m, REVISED, "a", m.lines(REVISED.shard("a"))[:-1]),
        REVISED.shard("a"),
        None,
        "7 rows kept and 12 dropped do not make the 20",
    ),
    "a token object flipped": (
        lambda m: flip(m, part_object(m, "data/c/0"), 40),
        "input_ids/data/c/0",
        None,
        "its sha256 is",
    ),
    "a token object that is gone": (
        lambda m: m.store.delete([part_object(m, "offsets/zarr.json")]),
        "offsets/zarr.json",
        None,
        "there is no such object",
    ),
    "a stray in a part": (
        lambda m: m.store.put(part_object(m, "data/c/0") + "x", b"x"),
        "data/c/0x",
        None,
        "no ledger names this object",
    ),
    "a merged ledger that tells of another part": (
        lambda m: edit(m, f"{CACHE.asset}/train/shard_ledger.json", b"2024/part-", b"2024/port-"),
        f"{CACHE.asset}/train/shard_ledger.json",
        None,
        "",
    ),
    "a tokenizer that changed": (
        lambda m: edit(m, "tokenizers/tiny-1/tokenizer.json", b"true", b"false"),
        "tokenizers/tiny-1/tokenizer.json",
        None,
        "its sha256 is",
    ),
    "a tokenizer that lost a file": (
        lambda m: m.store.delete(["tokenizers/tiny-1/tokenizer_config.json"]),
        "tokenizers/tiny-1/tokenizer_config.json",
        None,
        "no such object",
    ),
}


def test_a_clean_lake_is_proven_upstream_before_downstream(mill: Mill) -> None:
    assert audited_ledgers(mill.store) == LEDGERS
    assert audit(mill) == ([], [])


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(mill: Mill, lie: str) -> None:
    plant, path, row, what = LIES[lie]
    plant(mill)
    found, _ = audit(mill)
    assert found
    assert any(f.path.endswith(path) and f.row == row and what in f.what for f in found), "\n".join(map(str, found))
    first, _ = audit(mill, first_only=True)
    assert first == found[:1]


def test_a_consolidated_copy_is_proven_behind_its_slices(mill: Mill) -> None:
    index_cache(mill.store, even(), TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT]}, consolidated=True)
    paths = audited_ledgers(mill.store)
    [copy] = set(paths) - set(LEDGERS)
    assert paths[-1] == copy
    assert copy.startswith("token_caches/even/tiny-1/index/consolidated/pages-")
    assert copy.endswith("/train/sums.json")
    assert audited_ledgers(mill.store, "token_caches/even/tiny-1/index") == [copy]
    assert audit(mill) == ([], [])
    folder = copy.removesuffix("sums.json")
    flip(mill, f"{folder}input_ids/data/c/0")
    found, _ = audit(mill)
    assert [(each.path, each.what) for each in found] == [
        (copy, f"{folder}input_ids/data/c/0 does not have the sha256 that sums.json names; write the cache again")
    ]
    mill.store.delete([f"{folder}input_ids/data/c/0"])
    assert "input_ids/data/c/0 is missing" in audit(mill)[0][0].what


def test_one_asset_is_audited_by_whole_words(mill: Mill) -> None:
    assert audited_ledgers(mill.store, "sources/pages/v0") == LEDGERS[:3]
    assert audited_ledgers(mill.store, "sources/pages/v") == []
    assert audited_ledgers(mill.store, "tokenizers/tiny-1/") == [LEDGERS[5]]


def test_tokens_that_are_others_than_the_ledger_says_are_found_after_everything_else_agrees(mill: Mill) -> None:
    reseal_shard(mill, CACHE, table(mill, CACHE)[0].name, content="0")
    found, _ = audit(mill)
    assert [f.path for f in found] == [CACHE.table]
    assert "its content digest is" in found[0].what


def test_what_is_stale_is_a_finding_that_names_the_upstream(mill: Mill) -> None:
    mill.raw("b.jsonl.gz", [{"id": "x", "text": "a few words", "source": "pages"}])
    mill.convert()
    found, _ = audit(mill)
    stale = [f.path for f in found if "made from sources/pages/v0/documents (2024)" in f.what]
    assert WORDS.ledger in stale
    assert REVISED.ledger in stale


def test_a_blocked_id_that_came_after_the_mix_is_found(mill: Mill) -> None:
    mill.store.put("blocklists/takedowns.jsonl", b"")
    mill.mix(Stream(source="pages", version="v1", blocklists=("takedowns",)))
    assert audit(mill)[0] == []
    rows = [{"source": "pages", "id": "doc-00006", "reason": "asked"}]
    mill.store.put("blocklists/takedowns.jsonl", lines(rows))
    found, _ = audit(mill)
    assert [(f.path, f.row) for f in found] == [("mixes/blend/documents/pages/2024/a.jsonl.gz", 2)]
    assert "'doc-00006' (source 'pages') is on the blocklist takedowns" in found[0].what


def test_an_upstream_that_is_not_there_is_a_note_and_no_lie(mill: Mill) -> None:
    mill.store.delete([REVISED.ledger])
    found, notes = audit(mill)
    assert found == []
    assert notes == ["mixes/even/documents/pages (2024): sources/pages/v1/documents (2024) is not there: not compared"]


def test_old_parts_of_a_cache_are_left_to_gc_with_a_note(mill: Mill) -> None:
    old = part_object(mill, "data/c/0")
    mill.store.put(old.replace("/part-", "/part-0"), b"x")
    found, notes = audit(mill)
    assert found == []
    assert notes == [f"{CACHE.asset} (2024): 1 parts that its ledger does not name; gc removes them"]


def test_strays_are_not_looked_for_where_a_run_is_at_work(mill: Mill) -> None:
    mill.store.put(DOCUMENTS.claim, b'{"token":"x"}')
    mill.store.put(DOCUMENTS.shard("c"), gzip_bytes(b""))
    found, notes = audit(mill)
    assert found == []
    assert "a run is at work there" in notes[0]


def test_a_part_that_was_copied_when_one_shard_changed_is_proven(mill: Mill) -> None:
    mill.raw(
        "b.jsonl.gz",
        [
            {"id": f"doc-{n}", "text": "two words", "source": "pages", "metadata": {"number": n, "language": "en"}}
            for n in (40, 44)
        ],
    )
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_cache(mill)
    assert audit(mill)[0] == []


def test_rows_of_many_members_are_proven_and_a_flip_names_the_row_it_stands_behind(mill: Mill) -> None:
    rows = [{"id": f"big-{n}", "text": "word " * 100_000, "source": "pages"} for n in range(10)]
    mill.raw("b.jsonl.gz", rows)
    mill.convert()
    (_, b) = table(mill, DOCUMENTS)
    assert [row for _, row in b.members] == [0, 3, 6, 9]
    assert audit_ledger(mill.store, DOCUMENTS.ledger, print) == []
    flip(mill, B, b.members[2][0] + 60)
    found = audit_ledger(mill.store, DOCUMENTS.ledger, print)
    assert found[0].row == 6
    assert str(found[0]).startswith(f"{B}: row 6: its sha256 is")
