"""Stage functions alone, in a process of their own: `python -m bench.stages.steps convert tag:v0:gopher-1 revise ...`.

The lake and the recipes are named by the environment, as for everything else (see bench/inputs/shelf.py). Each step
runs in this process, or with `--workers=<n>` first in a pool of processes; a line of JSON at the end says what each
cost, made and held in memory.
"""

import json
import sys
import time
from contextlib import closing, nullcontext
from typing import Any

from bench.harness.cost import measured, peak_memory
from bench.harness.place import SNAPSHOT, SOURCE
from gristmill.engines.local import LocalPool
from gristmill.environment import Environment, read_environment
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, make
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

TOKENIZER = "bench-1"


def step_of(words: str, catalogue: Catalogue, shelves: tuple[str, ...]) -> Step:
    """The step that a word names: `convert`, `tag:<version>:<set>,<set>`, `revise`, `mix:<mix>` or `spell:<mix>`."""
    verb, *rest = words.split(":")
    match verb:
        case "convert":
            return ConversionStep(catalogue.sources[SOURCE], SNAPSHOT, shelves)
        case "tag":
            version, names = rest
            taggers = tuple(catalogue.taggers[name] for name in names.split(","))
            return TaggingStep(SOURCE, version, SNAPSHOT, taggers, shelves)
        case "revise":
            return revision_step(catalogue.sources[SOURCE], "v1", SNAPSHOT, shelves)
        case "mix":
            return stream_step(catalogue.mixes[rest[0]], SOURCE, SNAPSHOT, shelves)
        case "spell":
            tokenizer = catalogue.tokenizers[TOKENIZER]
            return TokenCacheStep(catalogue.mixes[rest[0]], SOURCE, tokenizer, SNAPSHOT, shelves)
    raise SystemExit(f"no step {words!r}")


def open_lake(environment: Environment) -> Lake:
    """The lake, as `gristmill.api` opens it; one in a bucket as Dagster's resource does, which imports Dagster."""
    if not environment.lake.startswith("s3://"):
        return Lake(environment.lake, environment.options)
    from resources.lake import lake_resource  # noqa: PLC0415 - half of the start of a step in a folder lake

    return lake_resource(environment).lake()


def main() -> None:
    """Runs the steps that the command line names, in order."""
    environment = read_environment()
    catalogue = read_catalogue(environment.shelves)
    lake = open_lake(environment)
    made: list[dict[str, Any]] = []
    steps = sys.argv[1:]
    workers = int(steps.pop(0).partition("=")[2]) if steps[0].startswith("--workers=") else 0
    with closing(LocalPool(workers)) if workers else nullcontext(Inline()) as engine:
        for words in steps:
            if words.startswith("spell"):
                make_tokenizer(lake.store(), catalogue.tokenizers[TOKENIZER], lambda _: None)
            step = step_of(words, catalogue, environment.shelves)
            with measured() as costs:
                ledgers = make(step, lake, engine, f"bench-{time.time_ns():x}", lambda _: None)
            ends = {asset: {"fingerprint": each.fingerprint, **each.totals} for asset, each in ledgers.items()}
            made.append({"step": words, **costs[0].plain(), "peak": peak_memory(), "made": ends})
    print(json.dumps(made))


if __name__ == "__main__":
    main()
