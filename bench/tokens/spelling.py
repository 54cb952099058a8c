"""A token cache by the stage functions alone, in its own process: `python -m bench.tokens.spelling LAKE TOKENIZER`.

Plan, grind, commit; then every object is read back, hashed and decoded as the audit does. Nothing is imported that a
plain Python program would not import: no Dagster, no shelf. The tokenizer `<TOKENIZER>` is in the lake already. A line
of JSON at the end says what each part cost, made and held in memory.
"""

import argparse
import json
import time
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from bench.harness.cost import BenchError, measured, peak_memory
from bench.harness.place import SNAPSHOT, SOURCE
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.execution.work import Engine
from gristmill.lake.address import cache_asset, place
from gristmill.lake.store.open import Lake
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Format, Text
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.verification.token_caches import cache_findings

MIX = "whole"


def step_of(tokenizer: str, eos: str, declared: Format, parts: int) -> TokenCacheStep:
    """The step: the mix `whole` of bench/inputs/shelf.py, with a format of one's own."""
    stream = Stream(source=SOURCE, version="v0", format=declared)
    mix = Mix(name=MIX, streams=(stream,), tokenizers=(tokenizer,), parts=parts)
    brought = Tokenizer(name=tokenizer, file="brought", sha256="0", eos=eos)  # only what is in the lake counts
    return TokenCacheStep(mix, SOURCE, brought, SNAPSHOT, ("gristmill",))


def main() -> None:
    """Makes and proves the cache that the command line describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lake")
    parser.add_argument("tokenizer")
    parser.add_argument("--eos", default="<|endoftext|>")
    parser.add_argument("--template", type=Path, help="of a chat; without one the format is text")
    parser.add_argument("--parts", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0, help="worker processes; 0: this process grinds")
    asked = parser.parse_args()
    declared: Format = Chat(chat_template=asked.template.read_text("utf-8")) if asked.template else Text()
    step = step_of(asked.tokenizer, asked.eos, declared, asked.parts)
    lake = Lake(asked.lake)
    said: dict[str, Any] = {}
    with closing(_pool(asked.workers)) if asked.workers else nullcontext(Inline()) as engine:
        with measured() as costs:
            (ledger,) = make(step, lake, _engine(engine), f"bench-{time.time_ns():x}", lambda _: None).values()
        said["made"] = {**costs[0].plain(), "peak": peak_memory(), "fingerprint": ledger.fingerprint, **ledger.totals}
    with measured() as costs:
        here = place(cache_asset(MIX, asked.tokenizer, SOURCE), SNAPSHOT)
        findings = [str(finding) for finding in cache_findings(lake.store(), here, lambda _: None)]
    if findings:
        raise BenchError(f"the cache is not whole: {findings[:3]}")
    said["proven"] = costs[0].plain()
    print(json.dumps(said))


def _pool(workers: int) -> Any:
    from gristmill.engines.local import LocalPool  # noqa: PLC0415 - only where there are workers

    return LocalPool(workers)


def _engine(engine: Any) -> Engine:
    found: Engine = engine
    return found


if __name__ == "__main__":
    main()
