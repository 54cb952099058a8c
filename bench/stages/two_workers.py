"""A token cache by one worker process and by two, of the same shards: what the second brings."""

from pathlib import Path

from bench.harness.cost import Cost
from bench.harness.row import Row
from bench.inputs.bpe import pair
from bench.inputs.corpus import texts
from bench.tokens.tokenizing import bring, forget, spell, text_lake

SHARDS, SIZE = 64, 16_000_000
SEED, STOCK = 4_711, 4
"""Shards repeat the texts of the first few: what is made of them is measured, not they."""
REQUIRED = 1.8
TIMES = 3


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    tokenizers = pair(work / "tokenizers")
    file = tokenizers["50k"]
    stock = [list(texts(SEED + number, SIZE)) for number in range(STOCK)]
    shards = (stock[number % STOCK] for number in range(SHARDS))
    lake = text_lake(work / "corpus", file, shards)
    tokenizer = bring(lake, "50k", file)
    best: dict[int, Cost] = {}
    fingerprints: set[str] = set()
    for _ in range(TIMES):
        for workers in (1, 2):
            forget(lake, tokenizer)
            _, said = spell(lake, tokenizer, work / f"{workers}.log", "--parts", "64", "--workers", str(workers))
            made = Cost(said["made"]["cpu_s"], said["made"]["wall_s"])
            best[workers] = min(best.get(workers, made), made, key=lambda each: each.wall_s)
            fingerprints.add(said["made"]["fingerprint"])
    gain = best[1].wall_s / best[2].wall_s
    return [
        Row(
            name="tokenizing, two workers",
            ours=best[2],
            peer=best[1],
            peer_name="one worker",
            agree=len(fingerprints) == 1,
            bar=f">= {REQUIRED:.1f}x wall",
            met=gain >= REQUIRED,
            note=f"{SHARDS} shards of {SIZE / 1e6:.0f} MB; wall {gain:.2f}x less with two; workers' starts included",
            detail={},
        )
    ]
