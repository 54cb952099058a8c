import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from forgedrows import forged_rows
from lies import Lie, audit, check_found, edit, part_object
from nearlake import Near
from nearrecipes import BEST, EXACT
from testkit import SHELVES, Mill
from wholelake import CACHE, DOCUMENTS, REVISED, STREAM, WORDS, reseal, reseal_shard, table

from gristmill.execution.finding import Finding
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.verification.audit import audit_ledger
from gristmill.verification.ledger import LedgerProof


def edit_table(mill: Mill) -> None:
    a, b = table(mill, DOCUMENTS)
    mill.store.put(DOCUMENTS.table, pack_table([msgspec.structs.replace(a, counts={"x": 1}), b]))


def spell_out(mill: Mill) -> None:
    """The same rows with spaces, and a head that names them."""
    head, rows = read_ledger(mill.store, DOCUMENTS)
    lines = b"".join(json.dumps(json.loads(as_json(row)), sort_keys=True).encode() + b"\n" for row in rows)
    digest = hashlib.sha256(lines).hexdigest()
    mill.store.put(DOCUMENTS.table, gzip_bytes(lines))
    table_digest = msgspec.structs.replace(head.table, sha256=digest)
    mill.store.put(DOCUMENTS.ledger, as_json(msgspec.structs.replace(head, table=table_digest)))


def read_twice(mill: Mill) -> None:
    ledger, rows = read_ledger(mill.store, WORDS)
    twice = compose_ledger(WORDS, ledger.recipe, (*ledger.inputs, *ledger.inputs), rows)
    mill.store.put(WORDS.ledger, as_json(twice))


def read_another(mill: Mill) -> None:
    (read,) = table(mill, WORDS)[0].inputs
    reseal_shard(mill, WORDS, "a", inputs=(msgspec.structs.replace(read, content="0"),))


LIES: dict[str, Lie] = {
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
    "rows that are not canonical JSON": (
        spell_out,
        DOCUMENTS.table,
        None,
        "its rows are not canonical JSON",
    ),
    "an input that is named twice": (read_twice, WORDS.ledger, None, "it names an input twice"),
    "a shard made from another content": (
        read_another,
        WORDS.table,
        None,
        "shard a was made from a of sources/pages/v0/documents (2024) as 0, which is",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])


def test_what_is_stale_is_a_finding_that_names_the_upstream(whole: Mill) -> None:
    whole.raw("b.jsonl.gz", [{"id": "x", "text": "a few words", "source": "pages"}])
    whole.convert()
    found, _ = audit(whole)
    stale = [f.path for f in found if "made from sources/pages/v0/documents (2024)" in f.what]
    assert WORDS.ledger in stale
    assert REVISED.ledger in stale


def test_a_lost_ledger_is_a_finding_on_it_and_on_what_was_made_from_it(whole: Mill) -> None:
    whole.store.delete([REVISED.ledger])
    found, notes = audit(whole)
    mend = f"run `python -m gristmill make {whole.root} sources/pages`"
    other = f"{mend}; if the raw data of 2024 are gone for good, remove {STREAM.ledger} and its objects"
    assert found == [
        Finding(REVISED.ledger, None, "there is no ledger", mend),
        Finding(STREAM.ledger, None, "made from sources/pages/v1/documents (2024), which has no valid ledger", other),
    ]
    assert notes == []


def test_an_upstream_of_which_nothing_is_left_is_a_finding_too(whole: Mill) -> None:
    whole.store.delete([entry.path for entry in whole.store.list("sources/pages/v1/")])
    found, _ = audit(whole)
    assert [each.path for each in found] == [STREAM.ledger]
    assert "which has no valid ledger" in found[0].what


def test_a_ledger_of_a_newer_gristmill_says_one_thing(whole: Mill) -> None:
    edit(whole, CACHE.ledger, b'"schema":1', b'"schema":2')
    found, _ = audit(whole)
    assert {str(each) for each in found} == {
        f"{CACHE.ledger}: has schema 2, and this Gristmill reads 1 (upgrade Gristmill)"
    }


def test_old_parts_of_a_cache_are_left_to_gc_with_a_note(whole: Mill) -> None:
    old = part_object(whole, "data/c/0")
    whole.store.put(old.replace("/part-", "/part-0"), b"x")
    found, notes = audit(whole)
    assert found == []
    assert notes == [f"{CACHE.asset} (2024): 1 parts that its ledger does not name; gc removes them"]
    name = next(name for name in old.split("/") if name.startswith("part-")).replace("part-", "part-0")
    whole.store.put("releases/first.json", f'{{"a": "{name}"}}'.encode())
    kept = "1 parts that its ledger does not name; gc keeps them for releases/first.json"
    assert audit(whole) == ([], [f"{CACHE.asset} (2024): {kept}"])


def test_objects_of_a_run_at_work_are_notes_and_others_are_strays_all_the_same(whole: Mill) -> None:
    c, d, x = (DOCUMENTS.shard(name) for name in "cdx")
    whole.store.put(DOCUMENTS.claim_path, b'{"token":"x"}')
    whole.store.put(
        DOCUMENTS.receipt_path("c"), as_json(Receipt(msgspec.structs.replace(table(whole, DOCUMENTS)[0], name="c")))
    )
    whole.store.put(f"{DOCUMENTS.receipts_folder}.plan-x.gz", gzip_bytes(b'{"inputs":null,"name":"d"}'))
    whole.store.put(f"{DOCUMENTS.receipts_folder}junk", b"x")
    for path in (c, d, x):
        whole.store.put(path, gzip_bytes(b""))
    found, notes = audit(whole)
    assert [(each.path, each.what) for each in found] == [(x, "no ledger names this object")]
    assert notes == [f"{path}: made by a run that is at work, or was killed; run it again" for path in (c, d)]


def test_clusters_that_read_documents_and_scores_are_compared_by_whole_tables(tmp_path: Path) -> None:
    for dedupe in (EXACT, BEST):
        near = Near(tmp_path / dedupe.name, dedupe)
        near.add(("wiki", "1", {"a": ["one two three", "one two three"], "b": ["one two four"]}))
        near.scores(0, {"a": [0.5, 0.75], "b": [0.25]})
        near.resolve()
        _, clusters = near.clusters(1)
        assert list(LedgerProof(near.store, clusters).upstream_findings()) == []
        ledger, (row,) = read_ledger(near.store, clusters)
        lies = tuple(msgspec.structs.replace(each, content="0" * 64) for each in row.inputs)
        row = msgspec.structs.replace(row, inputs=lies)
        near.store.put(clusters.table, pack_table([row]))
        near.store.put(clusters.ledger, as_json(compose_ledger(clusters, ledger.recipe, ledger.inputs, [row])))
        found = [finding.what for finding in LedgerProof(near.store, clusters).upstream_findings()]
        assert len(found) == len(lies)
        assert all("shard all was made from 1 of " in what for what in found if "r00001" not in what)


@pytest.mark.parametrize("where", [DOCUMENTS, WORDS, REVISED, STREAM, CACHE], ids=lambda each: each.kind.name)
def test_a_forged_row_that_was_sealed_again_is_a_finding(whole: Mill, where: Place) -> None:
    good = table(whole, where)
    unseen: list[str] = []
    for what, forged in forged_rows(good[0]):
        reseal(whole, where, [forged, *good[1:]])
        found = audit_ledger(whole.store, where.ledger, whole.said.append, first_only=True, shelves=SHELVES)
        unseen += [] if found or any(each in what for each in ONLY_MADE_AGAIN) else [what]
    assert unseen == []


ONLY_MADE_AGAIN = ("counts", "dropped with more", "extra with more", "facts.lengths")
"""What a row says that only making it again can tell."""
