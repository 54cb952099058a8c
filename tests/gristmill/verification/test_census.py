"""What a lake should hold follows from the objects that it holds."""

from typing import Any

from lies import LEDGERS, audit
from testkit import Mill
from wholelake import DOCUMENTS, WORDS

from gristmill.lake.address import place
from gristmill.verification.audit import ledger_paths_to_audit
from gristmill.verification.census import expected_ledger_paths


def due(mill: Mill, prefix: str = "") -> tuple[list[str], list[str]]:
    notes: list[str] = []
    return expected_ledger_paths(mill.store, prefix, notes.append), notes


def test_every_ledger_that_exists_is_due(whole: Mill) -> None:
    assert due(whole) == (LEDGERS, [])


def test_a_ledger_is_due_as_long_as_one_of_its_objects_exists(whole: Mill) -> None:
    for path in LEDGERS:
        whole.store.delete([path])
    assert due(whole) == (LEDGERS, [])
    assert [f.path for f in audit(whole)[0] if "there is no ledger" in f.what] == LEDGERS
    objects = [entry.path for entry in whole.store.list("") if "/raw/" not in entry.path]
    for kept in objects:
        only = Mill(whole.root)
        only.store.delete([path for path in objects if path != kept])
        assert len(due(only)[0]) == 1, kept
        for path in objects:
            only.store.put(path, b"")


def test_objects_without_a_ledger_are_a_note_where_a_run_has_a_claim_and_nowhere_else(whole: Mill) -> None:
    whole.store.delete([WORDS.ledger])
    whole.store.put(f"{WORDS.receipts_folder}a.json", b"{}")
    assert due(whole)[1] == []
    assert WORDS.ledger in due(whole)[0]
    whole.store.put(WORDS.claim_path, b'{"token":"x"}')
    ledgers, notes = due(whole)
    assert WORDS.ledger not in ledgers
    assert notes == [
        f"{WORDS.ledger}: does not exist yet: a run is at work on this partition, or was killed; run it again"
    ]


def test_what_no_asset_has_is_not_asked_for(whole: Mill) -> None:
    for path in (
        "sources/pages/raw/2025/a.jsonl.gz",
        "sources/pages/README.md",
        "sources/pages/v0/documents/a..b/x.jsonl.gz",
        "blocklists/takedowns.jsonl",
        "releases/first.json",
        "notes/mixes/even/index/index.json",
    ):
        whole.store.put(path, b"{}")
    assert due(whole) == (LEDGERS, [])


def test_one_asset_is_asked_for_by_whole_words(whole: Mill) -> None:
    assert due(whole, "sources/pages/v0")[0] == LEDGERS[:3]
    assert due(whole, "sources/pages/v0/documents/")[0] == [DOCUMENTS.ledger]
    assert due(whole, "sources/pages/v")[0] == []
    whole.store.put(place(DOCUMENTS.asset, "2025").shard("a"), b"")
    assert due(whole, DOCUMENTS.asset)[0] == [DOCUMENTS.ledger, place(DOCUMENTS.asset, "2025").ledger]


def test_objects_between_the_places_of_assets_are_findings(whole: Mill) -> None:
    strays = [
        "exports/even/dolma/evil.jsonl.gz",
        "mixes/even/documents/evil.jsonl.gz",
        "mixes/even/documents/other/evil.jsonl.gz",
        "mixes/even/documents/pages/evil.jsonl.gz",
        "sources/pages/v0/documents/a..b/evil.jsonl.gz",
        "sources/pages/v1/attributes/words-1/evil.jsonl.gz",
        "sources/pages/v1/documents/evil.jsonl.gz",
        "token_caches/even/tiny-1/pages/train/evil.jsonl.gz",
    ]
    for path in (*strays, "sources/pages/notes/evil.jsonl.gz", "sources/pages/raw/2025/a.jsonl.gz"):
        whole.store.put(path, b"{}")
    found: list[Any] = []
    assert ledger_paths_to_audit(whole.store, beside=found) == LEDGERS
    assert [each.path for each in found] == strays
    assert "no ledger names this object" in str(found[0])
    below: list[Any] = []
    ledger_paths_to_audit(whole.store, "sources/pages/v1", beside=below)
    assert [each.path for each in below] == strays[5:7]
