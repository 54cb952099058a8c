"""An earlier snapshot is met range by range, from memory and from a temporary file."""

from pathlib import Path

import numpy as np
import pytest
import xxhash

from gristmill.errors import DataError
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.columns import Spill
from gristmill.stages.dedupe.verdicts.old_run import OldRun


def put(store: Store, hi: "np.ndarray") -> str:
    data = hi.astype("<u8").tobytes() + np.zeros(len(hi), "<u8").tobytes()
    store.put("run/hashes", data)
    return xxhash.xxh3_128_hexdigest(data)


@pytest.mark.parametrize("spilled", ["memory", "file"])
def test_ranges_meet_what_they_share(tmp_path: Path, spilled: str) -> None:
    store = Lake(str(tmp_path)).store()
    old = np.arange(0, 60_000, 3, dtype=np.uint64)
    digest = put(store, old)
    new = np.arange(0, 60_000, 2, dtype=np.uint64)
    found = []
    with Spill(1 << 16) as spill:
        run = OldRun(store, "run/hashes", digest, spill if spilled == "file" else None, len(new))
        for part in np.array_split(new, 7):
            places, at = run.shared_hashes(part, np.zeros(len(part), np.uint64))
            assert part[places].tolist() == old[at].tolist()
            found += part[places].tolist()
        assert (spill.bytes > 0) == (spilled == "file")
    assert found == list(range(0, 60_000, 6))


def test_hashes_out_of_order_are_refused(tmp_path: Path) -> None:
    store = Lake(str(tmp_path)).store()
    digest = put(store, np.array([2, 1], np.uint64))
    with pytest.raises(DataError, match="run/hashes: its hashes are not in order; make the runs"):
        OldRun(store, "run/hashes", digest, None, 1).shared_hashes(np.ones(1, np.uint64), np.ones(1, np.uint64))
