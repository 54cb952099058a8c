"""`make demo` in a folder, then on a real S3 server, with one and the same DAGSTER_HOME."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from seaweed import SECRET, Seaweed

from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store

ROOT = Path(__file__).resolve().parent.parent.parent


def demo(home: Path, lake: str) -> str:
    """What the demo says."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo", "--offline"],
        cwd=ROOT,
        env={**os.environ, "DAGSTER_HOME": str(home), "GRISTMILL_LAKE": lake, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert SECRET not in done.stdout + done.stderr
    return done.stdout


def contents(store: Store) -> dict[str, list[tuple[str, str]]]:
    """Fingerprint, and name and digest of each shard, by ledger."""
    found: dict[str, list[tuple[str, str]]] = {}
    for place in list_ledgers(store):
        head, rows = read_ledger(store, place)
        found[place.ledger] = [("", head.fingerprint), *((row.name, row.content) for row in rows)]
    return found


@pytest.mark.slow
def test_the_demo_runs_on_s3_straight_after_a_folder_on_the_same_home(tmp_path: Path, seaweed: Seaweed) -> None:
    home, folder, bucket = tmp_path / "home", str(tmp_path / "lake"), seaweed.url("demo")
    assert "13 runs in " in demo(home, folder)
    said = demo(home, bucket)
    assert "this Dagster has shown another lake" in said
    assert "14 runs in " in said  # the same thirteen, and sync before them
    assert contents(open_store(folder)) == contents(seaweed.store("demo"))
    assert "nothing to do: all 27 partitions and tokenizers are finished" in demo(home, bucket)
