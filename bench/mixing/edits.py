"""Edits of a mix in a lake: rows that are copied, few or all rows edited, and a transform; and Dolma's mixer beside.

Dolma's mixer reads the same shards of documents and attributes, with the same rule and the same spans, and its texts
are compared with ours. Each case is made several times, in turns, and the least cost counts: other work on the machine
then changes all cases alike. The costs are of whole processes for the comparison, and of the step alone for MB/s.
"""

import gzip
import json
import shutil
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bench.harness.cost import Cost, timed
from bench.harness.environments import dolma
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake

_TURNS = 3
_SET = "marks-1"
_TAGGER = '''
from gristmill.recipes.tagger import Score, Spans, Tagger


def _marks(document):
    """A word count, a span in each text, and one in each fifth."""
    size = len(document.text)
    span = [(size // 2, min(size, size // 2 + 12), 0.9)] if size else []
    fifth = sum(document.id.encode()) % 5 == 0
    return {"words": float(len(document.text.split())), "each": span, "few": span if fifth else []}


MARKS = Tagger(
    name="marks-1",
    document=_marks,
    labels=(Score("words", "words", low=0), Spans("each", "a span"), Spans("few", "a span in each fifth text")),
)
'''
_MIX = """
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score

{constant} = Mix(
    name={name!r},
    streams=(
        Stream(
            source="bench",
            version="v0",
            columns=(score("marks-1__words", "words"),),
            exclude=(Rule("few-words", "words < 50", "too short"),),
            {options}
        ),
    ),
    tokenizers=(),
)
"""
_EDIT = "edits=(Edit(spans='marks-1__{}', replacement='|||MARK|||', least=0.5),),"
CASES = {
    "copied": "",
    "few": _EDIT.format("few"),
    "each": _EDIT.format("each"),
    "tidy": "transforms=('whitespace-1',),",
}
_NAMES = {
    "copied": "no edits",
    "few": "a fifth of the rows edited",
    "each": "every row edited",
    "tidy": "transform whitespace-1",
}
_BAR = 4.0


def run(work: Path) -> list[Row]:
    """A row for each case; `work` is an empty folder."""
    recipes = {f"mixes/{name}.py": _MIX.format(constant=name.upper(), name=name, options=CASES[name]) for name in CASES}
    recipes["transforms/whitespace.py"] = "from gristmill.transforms.whitespace import *\n"
    lake = TaggedLake.made(work, megabytes() * 1_000_000, [], {"marks": _TAGGER}, recipes)
    lake.step(f"tag:v0:{_SET}")
    costs: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in CASES}
    peers: list[Cost] = []
    for turn in range(_TURNS):
        for name in CASES:
            shutil.rmtree(lake.root / "mixes" / name, ignore_errors=True)
            costs[name].append(lake.step(f"mix:{name}"))
        peers.append(_dolma(lake, work, turn))
    different = _compared(lake.root / "mixes" / "few" / "documents" / SOURCE / SNAPSHOT, work / "dolma")
    best = {name: min(each, key=lambda pair: pair[1].cpu_s) for name, each in costs.items()}
    return [_row(name, *best[name], lake, min(peers, key=lambda cost: cost.cpu_s), different) for name in CASES]


def _row(name: str, whole: Cost, step: Cost, lake: TaggedLake, peer: Cost, different: str) -> Row:
    rate = lake.size / step.cpu_s / 1e6
    note = f"{lake.size / 1e6:.0f} MB, {rate:.0f} MB a CPU second"
    if name != "few":
        return Row(name=f"edits in a lake: {_NAMES[name]}", ours=step, bar="none", met=True, note=note)
    return Row(
        name=f"edits in a lake: {_NAMES[name]}, with a filter",
        ours=whole,
        peer=peer,
        peer_name="dolma mix",
        agree=not different,
        bar=f">= {_BAR:g}x CPU",
        met=peer.cpu_s >= _BAR * whole.cpu_s,
        note=f"{note}; {peer.cpu_s / whole.cpu_s:.2f}x, starts included{'; ' + different if different else ''}",
    )


def _dolma(lake: TaggedLake, work: Path, turn: int) -> Cost:
    output = work / "dolma"
    shutil.rmtree(output, ignore_errors=True)
    words = f"@['{_SET}__words']"
    stream: dict[str, Any] = {
        "name": "bench",
        "documents": [f"{lake.documents}/*.gz"],
        "attributes": [_SET],
        "filter": {"exclude": [f"$.attributes[?({words} && {words}[0] && {words}[0][2] < 50)]"]},
        "span_replacement": [
            {"span": f"$.attributes['{_SET}__few']", "min_score": 0.5, "replacement": "|||MARK|||"},
        ],
        "output": {"path": str(output), "max_size_in_bytes": 1 << 40, "discard_fields": ["attributes"]},
    }
    config = work / "dolma.json"
    config.write_text(json.dumps({"streams": [stream], "processes": 1}))
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    return timed([dolma().with_name("dolma"), "-c", config, "mix"], work / "logs" / f"dolma-{turn}.log", keys)


def _compared(ours: Path, theirs: Path) -> str:
    """The first difference of ids and texts."""
    for number, (mine, other) in enumerate(zip_longest(_rows(ours), _rows(theirs))):
        if mine != other:
            return f"row {number} differs"
    return ""


def _rows(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.gz")):
        with gzip.open(path) as lines:
            for line in lines:
                row = json.loads(line)
                yield row["id"], row["text"]
