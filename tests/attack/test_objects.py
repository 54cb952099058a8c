"""No object that a ledger names can change without a finding of `verify`."""

import random
from pathlib import Path

from lies import audit
from wholelake import flip, make_whole


def test_one_flipped_bit_of_a_shard_is_found(tmp_path: Path, seed: int) -> None:
    mill = make_whole(tmp_path / "lake")
    shards = sorted(
        entry.path for entry in mill.store.list("") if entry.path.endswith("/a.jsonl.gz") and "/raw/" not in entry.path
    )
    chosen = random.Random(seed).choice(shards)
    flip(mill, chosen)
    assert any(finding.path == chosen for finding in audit(mill)[0])
