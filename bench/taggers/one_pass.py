"""Sets of many taggers in one pass: it costs what the single runs cost together, less the reading that they repeat.

The taggers are all those of rules that Dolma has too.
A tagger that gives no labels measures the rest: reading and decoding the documents, and writing empty rows.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.harness.cost import Cost
from bench.harness.row import Row
from bench.taggers.comparisons.rules import RULES
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake

NOTHING = "nothing-1"
MOST = 1.05
ROUNDS = 3
_NOTHING = f"""
from gristmill.recipes.tagger import Tagger

NOTHING = Tagger(name="{NOTHING}", batch=lambda batch: {{}})
"""


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    lake = TaggedLake.made(work, megabytes() * 1_000_000, RULES.modules, {"nothing": _NOTHING})
    reading = _least(lake, [NOTHING])
    single = [_least(lake, [name]) for name in RULES.sets]
    together = _least(lake, RULES.sets)
    repeated = len(RULES.sets) - 1
    bound = Cost(
        sum(each.cpu_s for each in single) - repeated * reading.cpu_s,
        sum(each.wall_s for each in single) - repeated * reading.wall_s,
    )
    ratio = together.cpu_s / bound.cpu_s
    return [
        Row(
            name=f"tagging: {len(RULES.sets)} sets in one pass",
            ours=together,
            peer=bound,
            peer_name="the single runs, less the reading that they repeat",
            bar=f"<= {MOST}x CPU",
            met=ratio <= MOST,
            note=f"{lake.size / 1e6:.0f} MB of text; {ratio:.2f}x; least of {ROUNDS} runs each, without imports",
            detail={"reading": reading.plain(), "single": [each.plain() for each in single]},
        )
    ]


def _least(lake: TaggedLake, sets: Sequence[str]) -> Cost:
    """The step's cost without imports, the least of some runs: noise only adds."""
    return min((lake.made_again(sets)[1] for _ in range(ROUNDS)), key=lambda cost: cost.cpu_s)
