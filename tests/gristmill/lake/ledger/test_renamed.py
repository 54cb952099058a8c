"""Ledgers whose counters have the names of an earlier version."""

import hashlib
import json
from pathlib import Path

from talklake import BYTES, mix_of, row, started
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.execution.survey import survey_step
from gristmill.lake.address import Place, cache_asset, place
from gristmill.lake.ledger.files import read_ledger, table_lines
from gristmill.lake.ledger.renamed import RENAMED, current_shard
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.recipes.mix import Mix
from gristmill.recipes.row_format import Prebuilt
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.verification.audit import audit_ledger

CACHE = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
MIX = mix_of(Prebuilt(input_ids_key="ids", on_trouble="drop"), parts=1)
ROWS = [row(n, {"ids": [n, 1] if n % 3 else "none"}) for n in range(8)]
CHANGED = [row(n, {"ids": [n, 2] if n % 3 else ["x"]}) for n in range(4, 8)]


def build(mill: Mill, mix: Mix = MIX) -> TokenCacheStep:
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    step = TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES)
    mill.make(step)
    return step


def age(mill: Mill, where: Place) -> None:
    """Writes a ledger as an earlier version would have written it: other names, all else the same."""
    old = {new: name for name, new in RENAMED.items()}
    head = mill.store.read(where.ledger).decode()
    lines = table_lines(mill.store, where).decode()
    digest = hashlib.sha256(lines.encode()).hexdigest()
    for new, name in old.items():
        lines, head = lines.replace(json.dumps(new), json.dumps(name)), head.replace(json.dumps(new), json.dumps(name))
    note = mill.store.read(where.run).decode()
    aged = hashlib.sha256(lines.encode()).hexdigest()
    assert aged != digest
    mill.store.put(where.table, gzip_bytes(lines.encode()))
    mill.store.put(where.ledger, head.replace(digest, aged).encode())
    mill.store.put(where.run, note.replace(digest, aged).encode())


def ledgers(mill: Mill) -> dict[str, bytes]:
    found = (entry.path for entry in mill.store.list("token_caches/"))
    return {path: mill.store.read(path) for path in found if not path.endswith(".run.json")}


def test_an_old_ledger_is_read_under_the_present_names_and_nothing_is_due(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *ROWS)
    step = build(mill)
    head, table = read_ledger(mill.store, CACHE)
    age(mill, CACHE)
    assert b"no ids" in mill.store.read(CACHE.ledger)
    assert head.dropped == {"no token ids": 3}
    now, rows = read_ledger(mill.store, CACHE)
    assert (now.dropped, now.totals, rows) == (head.dropped, head.totals, table)
    assert [each.finished for each in survey_step(step, mill.store)] == [True]
    assert list(audit_ledger(mill.store, CACHE.ledger, mill.said.append)) == []


def test_a_rebuilt_slice_has_the_present_names_and_equals_one_from_scratch(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *ROWS)
    build(mill)
    age(mill, CACHE)
    mill.raw("b.jsonl.gz", CHANGED)
    mill.convert()
    build(mill)
    fresh = started(tmp_path / "fresh", *ROWS[:4], *CHANGED)
    build(fresh)
    assert b"no ids" not in mill.store.read(CACHE.ledger)
    named = set(ledgers(fresh))
    assert {path: data for path, data in ledgers(mill).items() if path in named} == ledgers(fresh)


def test_rows_with_no_old_name_stay_the_same_object(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *ROWS)
    build(mill)
    for shard in read_ledger(mill.store, CACHE)[1]:
        assert current_shard(shard) is shard
