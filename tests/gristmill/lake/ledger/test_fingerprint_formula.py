"""The script of docs/reference/ledger.md gives the fingerprint of every head: that of other people's programs too."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dedupelake
import exported
import hostlake
import pytest
import remarks
from testkit import Mill
from wholelake import STREAM, make_whole, reseal_shard

from gristmill.lake.ledger.files import list_ledgers

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "ledger.md"


def repeated(root: Path) -> Mill:
    """Two snapshots, deduped: exactly, and by nearness."""
    root.mkdir()
    mill = Mill(root)
    dedupelake.put(mill, "a", "x", "one", "two")
    dedupelake.put(mill, "b", "x", "two", "six", "six")
    dedupelake.resolved(mill, "texts-1", "near-1")
    return mill


def rude(root: Path) -> Mill:
    """A labelled set, a trained model, one that was brought, and the sets of their taggers."""
    root.mkdir()
    mill = Mill(root)
    maker, _ = remarks.run(mill, remarks.start(mill))
    maker.raise_failures()
    return mill


def held(root: Path) -> Mill:
    """A mix whose ledger says which rows are held out, and what is exported of it."""
    root.mkdir()
    mix = hostlake.mix_of()
    mill = hostlake.start(root, mix)
    mill.make(exported.step_of(mix))
    return mill


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_whole, repeated, rude, held])
def test_the_formula_of_the_page_gives_every_fingerprint(make: Callable[[Path], Mill], tmp_path: Path) -> None:
    mill = make(tmp_path / "lake")
    told = computed(tmp_path)
    heads = int(told.split()[0])
    assert told == f"{heads} heads, 0 differ\n"
    assert heads >= len(list_ledgers(mill.store))


def test_a_fingerprint_that_does_not_follow_is_named(tmp_path: Path) -> None:
    mill = make_whole(tmp_path / "lake")
    head = mill.store.read(STREAM.ledger)
    reseal_shard(mill, STREAM, "a", rows=5)
    mill.store.put(STREAM.ledger, head)
    assert computed(tmp_path) == f"8 heads, 1 differ\n{mill.root}/{STREAM.ledger}\n"


def computed(folder: Path) -> str:
    """What the script of the page says of the lake in a folder."""
    [script] = re.findall(r"^```python\n(# fingerprints\.py\n.+?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "fingerprints.py").write_text(script)
    command = [sys.executable, str(folder / "fingerprints.py"), str(folder / "lake")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
