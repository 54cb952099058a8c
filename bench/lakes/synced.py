"""A lake of many snapshots of one source, as `sync` reads it: `python -m bench.lakes.synced SOURCE COUNT`.

Every asset below the source has a ledger in each snapshot, with one shard that nobody made: `sync` reads ledgers and
trusts them. Then the job `sync` tells an empty Dagster of them. A line of JSON says what that cost, and how many
materializations Dagster knows.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import dagster as dg

from assets.support.keys import key_of
from assets.support.runs.in_process import execute_in_process
from bench.harness.cost import measured, peak_memory
from definitions import defs
from gristmill.environment import read_environment
from gristmill.lake.address import place, raw_folder
from gristmill.lake.ledger.files import as_json, compose_ledger, table_bytes
from gristmill.lake.ledger.model import Recipe, Shard
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.recipes.catalogue import read_catalogue

RECIPE = Recipe("bench", 1, {})
SHARD = Shard("a", 10, 1_000, 2_000, "0" * 64, "0" * 32, "0" * 32, RECIPE.digest, ())


def write_snapshots(lake: Path, source: str, addresses: Iterable[str], count: int) -> None:
    """Raw objects and ledgers of so many snapshots.

    Args:
        lake: the lake's folder.
        source: the source.
        addresses: the assets that are made from it.
        count: of snapshots.
    """
    lines = table_bytes([SHARD])
    table = gzip_bytes(lines)
    made: set[Path] = set()

    def write(path: Path, data: bytes) -> None:
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(data)

    every = list(addresses)
    for number in range(count):
        snapshot = f"snapshot-{number:05d}"
        write(lake / raw_folder(source, snapshot) / "a.jsonl.gz", b"")
        for address in every:
            partition = place(address, snapshot)
            write(lake / partition.ledger, as_json(compose_ledger(partition, RECIPE, (), [SHARD], lines)))
            write(lake / partition.table, table)


def main() -> None:
    """Writes the lake, and runs `sync`."""
    source, count = sys.argv[1], int(sys.argv[2])
    environment = read_environment()
    catalogue = read_catalogue(environment.named_shelves())
    addresses = [address for address, of in catalogue.partitioned_assets() if of == source]
    write_snapshots(Path(environment.lake), source, addresses, count)
    job = defs().resolve_job_def("sync")
    with dg.DagsterInstance.get() as instance, measured() as costs:
        assert execute_in_process(instance, job, None, {}).success
        peak = peak_memory()
    known = sum(len(instance.get_materialized_partitions(key_of(address))) for address in addresses)
    print(json.dumps([costs[0].plain(), peak, known]))


if __name__ == "__main__":
    main()
