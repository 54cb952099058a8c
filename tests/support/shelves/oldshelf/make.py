"""Makes the lake of this shelf with the Gristmill that Python finds: `python -m oldshelf.make COMMAND...`.

arrive SNAPSHOT   puts raw data of a year, and names its fifth page in the blocklist
grind             brings all that has arrived from raw to tokens and indexes, through Dagster
copy              closes the token caches again, each stream and split in one cache
pack              plans the examples of the token caches
names             writes the names that Dagster's database holds, as JSON
"""

import gzip
import json
import sys
from typing import Any

import dagster as dg
from oldshelf.location import defs, environment
from oldshelf.rows import books, exams, talks

from assets.support.mill import Mill
from scripts.demo import grind
from scripts.mill import open_mill

MIX = "reading"
CACHES = f"token_caches/{MIX}/tiny-1/index"
BLOCKLIST = "blocklists/takedowns.jsonl"
EXAMPLE = 48
"""Tokens of an example of the packing plan."""


def arrive(mill: Mill, snapshot: str) -> None:
    """Raw data of a year: of each source one object a half, and among the pages a row that is no document."""
    for source, rows in (("books", books), ("talks", talks), ("exams", exams)):
        lines = [json.dumps(row).encode() + b"\n" for row in rows(snapshot)]
        half = len(lines) // 2
        refused = [b"no document\n"] if source == "books" else []
        for name, part in (("a", lines[:half] + refused), ("b", lines[half:])):
            mill.store.put(f"sources/{source}/raw/{snapshot}/{name}.jsonl.gz", gzip.compress(b"".join(part), mtime=0))
    known = mill.store.read(BLOCKLIST) if mill.store.head(BLOCKLIST) else b""
    row = {"source": "books", "id": f"{snapshot}-5", "reason": "asked for by its author"}
    mill.store.put(BLOCKLIST, known + json.dumps(row).encode() + b"\n")


def materialize(mill: Mill, address: str, config: dict[str, Any]) -> None:
    """One run of an asset without partitions."""
    result = mill.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=mill.instance,
        asset_selection=[dg.AssetKey(address.split("/"))],
        run_config={
            "ops": {address.replace("/", "__").replace("-", "_"): {"config": config}},
            "loggers": {"progress": {}},
        },
    )
    assert result.success


def names() -> dict[str, Any]:
    """What Dagster's database and its users know by name; of each asset what its automation goes by, too."""
    graph = defs().get_repository_def().asset_graph
    repository = defs().get_repository_def()
    return {
        "assets": {
            "/".join(node.key.path): {
                "code version": node.code_version,
                "partitions": getattr(node.partitions_def, "name", None),
                "pools": sorted(node.pools or ()),
            }
            for node in graph.asset_nodes
        },
        "checks": sorted(f"{'/'.join(key.asset_key.path)}:{key.name}" for key in graph.asset_check_keys),
        "jobs": sorted(job.name for job in repository.get_all_jobs() if not job.name.startswith("__")),
        "sensors": sorted(sensor.name for sensor in repository.sensor_defs),
        "schedules": sorted(schedule.name for schedule in repository.schedule_defs),
    }


def main(arguments: list[str]) -> None:
    """Runs one command."""
    match arguments:
        case ["arrive", snapshot]:
            arrive(open_mill(environment()), snapshot)
        case ["grind"]:
            grind(open_mill(environment()), MIX)
        case ["copy"]:
            materialize(open_mill(environment()), CACHES, {"consolidated": True})
        case ["pack"]:
            materialize(open_mill(environment()), f"{CACHES}/packing", {"length": EXAMPLE})
        case ["names"]:
            sys.stdout.write(json.dumps(names(), indent=1, sort_keys=True))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
