"""Languages by document: `language-1` beside the plain fastText engine, which is called for each document.

The costs are those of the tagger alone, from documents to labels that are checked. The note gives the ratio of the
whole step of tagging, from plan to ledger, which reads and writes too. All labels and scores of both are compared.
"""

import gzip
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.harness.cost import Cost, measured
from bench.harness.row import Row
from bench.taggers.compare import compare
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake
from bench.taggers.plain_language import PLAIN
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Column
from gristmill.taggers.language import LANGUAGE

BAR = 2.0
CLOSE = 1e-4
TOGETHER = 1_000
"""Documents of a batch: about as many as a block of a shard has."""

_PLAIN = """
from bench.taggers.plain_language import PLAIN

__all__ = ["PLAIN"]
"""


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    lake = TaggedLake.made(work, megabytes() * 1_000_000, ["gristmill.taggers.language"], {"plain_language": _PLAIN})
    ours, peer, compared, different = _alone(lake.documents)
    steps = {name: lake.step(f"tag:v0:{name}")[1] for name in (LANGUAGE.name, PLAIN.name)}
    written, wrong = compare([lake.attributes(LANGUAGE.name)], lake.attributes(PLAIN.name), close=CLOSE)
    trouble = wrong or (f"{different:,} labels differ" if different else "")
    whole = steps[PLAIN.name].cpu_s / steps[LANGUAGE.name].cpu_s
    return [
        Row(
            name="language by document",
            ours=ours,
            peer=peer,
            peer_name="fastText, document by document",
            agree=compared == written > 0 and not trouble,
            bar=f">= {BAR:g}x CPU",
            met=peer.cpu_s / ours.cpu_s >= BAR,
            note=trouble or f"{lake.size / 1e6:.0f} MB of text, {compared:,} documents; the whole step {whole:.1f}x",
            detail={"steps": {name: cost.plain() for name, cost in steps.items()}},
        )
    ]


def _alone(folder: Path) -> tuple[Cost, Cost, int, int]:
    """What both taggers cost, how many documents were compared, and how many labels differ."""
    ours, peer, compared, different = Cost(0, 0), Cost(0, 0), 0, 0
    for documents in _batches(folder):
        if not compared:
            LANGUAGE.columns(documents[:1]), PLAIN.columns(documents[:1])  # both load their model
        with measured() as cost:
            mine = LANGUAGE.columns(documents)
        with measured() as peer_cost:
            theirs = PLAIN.columns(documents)
        ours, peer = ours + cost[0], peer + peer_cost[0]
        compared += len(documents)
        different += differences(mine, theirs)
    return ours, peer, compared, different


def differences(ours: Mapping[str, Column], theirs: Mapping[str, Column]) -> int:
    """How many labels are given to a document by one of both alone, or differ by more than CLOSE.

    >>> differences({"en": [0.5, None], "de": [None, None]}, {"en": [0.50001, 0.5]})
    1
    """
    count = 0
    for label in ours.keys() | theirs.keys():
        some, others = (_listed(labels.get(label, [])) for labels in (ours, theirs))
        for one, other in zip_longest(some, others):
            if isinstance(one, float) and isinstance(other, float):
                count += abs(one - other) > CLOSE
            else:
                count += one is not other
    return count


def _listed(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _batches(folder: Path) -> Iterator[list[Document]]:
    """The documents of the shards in a folder."""
    decode = msgspec.json.Decoder(Document).decode
    for shard in sorted(folder.iterdir()):
        with gzip.open(shard, "rb") as file:
            documents = [decode(line) for line in file]
        for start in range(0, len(documents), TOGETHER):
            yield documents[start : start + TOGETHER]
