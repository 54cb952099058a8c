import hashlib

import pytest
from lies import A, B, Lie, audit, check_found, swap
from testkit import Mill, lines, packed, put_list
from wholelake import DOCUMENTS, REVISED, reseal_shard, rewrite

from gristmill.lake.address import Place
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES, dump_hashes, sorted_pair_hashes
from gristmill.lake.rows.raw_spans import RawSpan, RawSpansWriter
from gristmill.recipes.mix import Stream


def duplicate(mill: Mill) -> None:
    rewrite(mill, DOCUMENTS, "b", [*mill.lines(B), mill.lines(A)[7]])


def bend_index(mill: Mill) -> None:
    index = dump_hashes(sorted_pair_hashes([("pages", f"other-{n}") for n in range(20)]))
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


def other_tail(mill: Mill, where: Place, tail: bytes) -> None:
    """Writes other bytes after the hashes of shard `a`, ledger and all."""
    rows = len(mill.lines(where.shard("a")))
    index = mill.store.read(where.index("a"))[: rows * (HASH_BYTES + ROW_BYTES)] + tail
    mill.store.put(where.index("a"), index)
    reseal_shard(mill, where, "a", index=hashlib.sha256(index).hexdigest())


def raw_spans(rows: int, *spans: RawSpan) -> bytes:
    """Packed spans of this many rows of one raw object: the given ones first, then ones that are not known."""
    writer = RawSpansWriter()
    writer.begin_object()
    for number in range(rows):
        writer.add(spans[number] if number < len(spans) else None)
    return writer.packed_spans()


LIES: dict[str, Lie] = {
    "raw spans of too few rows": (
        lambda m: other_tail(m, DOCUMENTS, raw_spans(19)),
        DOCUMENTS.index("a"),
        None,
        "its raw spans are of 19 rows from 1 raw objects, the shard has 20 rows from 1",
    ),
    "a raw span that ends before it begins": (
        lambda m: other_tail(m, DOCUMENTS, raw_spans(20, RawSpan(0, 9), RawSpan(9, 4))),
        DOCUMENTS.index("a"),
        None,
        "the raw span of row 1 is not valid",
    ),
    "raw spans that are none": (
        lambda m: other_tail(m, DOCUMENTS, b"words"),
        DOCUMENTS.index("a"),
        None,
        "the raw spans after its hashes cannot be read",
    ),
    "raw spans and more": (
        lambda m: other_tail(m, DOCUMENTS, raw_spans(20) + b"words"),
        DOCUMENTS.index("a"),
        None,
        "the raw spans after its hashes cannot be read",
    ),
    "raw spans of v1": (
        lambda m: other_tail(m, REVISED, raw_spans(16)),
        REVISED.index("a"),
        None,
        "only v0 has raw spans",
    ),
    "an empty id": (
        lambda m: rewrite(m, DOCUMENTS, "a", [b'{"id":"","text":"x","source":"pages"}', *m.lines(A)[1:]]),
        A,
        0,
        "has the id '', which is not valid",
    ),
    "a row that is no document": (
        lambda m: m.store.put(A, packed([*m.lines(A)[:3], b'{"id":7}', *m.lines(A)[4:]])),
        A,
        3,
        "is not a document",
    ),
    "another index": (bend_index, DOCUMENTS.index("a"), None, "its sha256 is"),
    "another index, ledger and all": (wrong_index, DOCUMENTS.index("a"), None, "it is not the index of the ids"),
    "an index that is gone": (lambda m: m.store.delete([DOCUMENTS.index("b")]), DOCUMENTS.index("b"), None, "no such"),
    "one id in two shards": (duplicate, B, 20, f"is in {A} row 7 as well"),
    "another digest of ids": (lambda m: reseal_shard(m, DOCUMENTS, "a", ids="0"), A, None, "its ids' digest is"),
    "a quarantine that is gone": (
        lambda m: m.store.delete([DOCUMENTS.quarantine_path("a")]),
        DOCUMENTS.quarantine_path("a"),
        None,
        "no such object",
    ),
    "a quarantine that is not counted": (
        lambda m: reseal_shard(m, DOCUMENTS, "a", dropped={"quarantine: other": 1}),
        DOCUMENTS.quarantine_path("a"),
        None,
        "refused rows by reason are",
    ),
    "a version with a row of its own": (foreign_row, REVISED.shard("a"), 0, f"is not in {A}"),
    "a version with its rows turned": (
        lambda m: rewrite(m, REVISED, "a", swap(m.lines(REVISED.shard("a")), 0, 1)),
        REVISED.shard("a"),
        1,
        f"is not in {A} after the row before it",
    ),
    "a version that lost a row": (
        lambda m: rewrite(m, REVISED, "a", m.lines(REVISED.shard("a"))[:-1]),
        REVISED.shard("a"),
        None,
        "7 rows kept and 12 dropped do not make the 20",
    ),
}


def test_raw_spans_that_no_reader_reported_are_proven(whole: Mill) -> None:
    other_tail(whole, DOCUMENTS, raw_spans(20))
    assert not [each for each in audit(whole)[0] if "raw spans" in each.what]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])


def test_a_blocked_id_that_came_after_the_mix_is_found(whole: Mill) -> None:
    whole.store.put("blocklists/takedowns.jsonl", b"")
    whole.mix(Stream(source="pages", version="v1", blocklists=("takedowns",)))
    assert audit(whole)[0] == []
    rows = [{"source": "pages", "id": "doc-00006", "reason": "asked"}]
    whole.store.put("blocklists/takedowns.jsonl", lines(rows))
    found, _ = audit(whole)
    assert [(f.path, f.row) for f in found] == [("mixes/blend/documents/pages/2024/a.jsonl.gz", 2)]
    assert "'doc-00006' (source 'pages') is on the blocklist takedowns" in found[0].what


def test_an_entry_that_went_after_the_mix_is_found(whole: Mill) -> None:
    rows = [{"source": "pages", "id": f"doc-000{number}", "reason": "asked"} for number in ("06", "26")]
    whole.store.put("blocklists/takedowns.jsonl", lines(rows))
    whole.mix(Stream(source="pages", version="v1", blocklists=("takedowns",)))
    assert audit(whole)[0] == []
    whole.store.put("blocklists/takedowns.jsonl", lines(rows[:1]))
    [finding] = audit(whole)[0]
    assert finding.path == "blocklists/takedowns.jsonl"
    assert finding.what.startswith("blocklists/takedowns.jsonl: it has lost 1 of the 2 entries that ")
    put_list(whole.store, lines(rows[:1]))  # taken back
    [finding] = audit(whole)[0]
    assert finding.path == "mixes/blend/ledgers/pages/2024.shards.jsonl.gz"
    assert finding.what == "shard b was made with other entries of the blocklist takedowns than it has now"
