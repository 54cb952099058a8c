"""What Dagster adds to the journey of a snapshot of 1 GB: raw to token cache, against the stages called alone.

Both grind the same raw objects in two worker processes, into lakes of their own; the stages alone are called one
after another in one plain process. Imports and the start of the process are counted in both.
"""

import shutil
import sys
from pathlib import Path

from bench.harness.cost import timed
from bench.harness.place import SNAPSHOT
from bench.harness.row import Row
from bench.inputs.bpe import write_tokenizer
from bench.inputs.shelf import new_lake, raw_folder, variables, write_shelf
from bench.stages.one_changed import ASSETS, JOURNEY
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.folder import FolderStore

SHARDS = 250
MEGABYTES = 1_000
WORKERS = 2
SHARE = 0.10
_SETS = "gopher-1,language-1,length-1"
STEPS = ("convert", f"tag:v0:{_SETS}", "revise", f"tag:v1:{_SETS}", "mix:bench", "spell:bench")


def run(work: Path, shards: int = SHARDS, megabytes: float = MEGABYTES) -> list[Row]:
    """The row; `work` is an empty folder."""
    write_shelf(work, write_tokenizer(work / "tokenizer.json"))
    lake, env, size = new_lake(work, shards, round(megabytes * 1e6 / shards))
    plain = work / "plain"
    shutil.copytree(raw_folder(lake), raw_folder(plain))
    workers = {"GRISTMILL_WORKERS": str(WORKERS)}
    python = [sys.executable, "-m"]
    alone = [*python, "bench.stages.steps", f"--workers={WORKERS}", *STEPS]
    peer = timed(alone, work / "alone.log", variables(work, plain))
    ours = timed([*python, "bench.stages.drive", *JOURNEY], work / "dagster.log", {**env, **workers})
    share = ours.wall_s / peer.wall_s - 1
    prints = [
        [read_ledger(FolderStore(str(each)), place(asset, SNAPSHOT))[0].fingerprint for asset in ASSETS]
        for each in (lake, plain)
    ]
    return [
        Row(
            name="journey",
            ours=ours,
            peer=peer,
            peer_name="the stages alone",
            agree=prints[0] == prints[1],
            bar=f"<= {SHARE:.0%} more wall time",
            met=share <= SHARE,
            note=f"{size / 1e6:,.0f} MB of text, {shards} shards, {WORKERS} workers; Dagster adds {share:.1%} of wall",
            detail={"share": round(share, 4), "bytes": size},
        )
    ]
