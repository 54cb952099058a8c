"""What Dolma's mixer and ours read: real texts as documents, and attributes with the labels of a configuration."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

_BOUND = re.compile(r"@\.(\w+)\[0\]\[2\]\s*(<|>=|>)\s*([0-9.]+)")
_SPAN = re.compile(r"\$\.attributes\.(\w+)")
_DROPPED = 0.01
"""Share of documents that a rule drops."""
_MARKED = 0.2
"""Share of documents that have a span of a label."""


@dataclass
class LabelPlan:
    """The labels of one attribute set.

    Attributes:
        scores: by label the least and the largest score that no rule drops.
        spans: labels that mark words.
    """

    scores: dict[str, tuple[float, float]] = field(default_factory=dict)
    spans: list[str] = field(default_factory=list)

    def drawn(self, length: int, draw: Random) -> dict[str, Any]:
        """Attributes of a document of so many code points."""
        found: dict[str, Any] = {}
        for label, (least, most) in self.scores.items():
            low = draw.random() < _DROPPED
            score = least / 2 - 1e-3 if low and least else most * 2 if low else least + draw.random() * (most - least)
            found[label] = [[0, length, round(score, 5)]]
        for label in self.spans:
            start = draw.randrange(max(1, length - 20))
            marked = draw.random() < _MARKED
            found[label] = [[start, min(length, start + 12), round(draw.random(), 3)]] if marked else []
        return found


def plans(rules: Sequence[str], spans: Sequence[str], sets: Sequence[str]) -> dict[str, LabelPlan]:
    """The labels that rules read, each in the set whose name it begins with, else in the second one."""
    found = {name: LabelPlan() for name in sets}
    bounds: dict[str, tuple[float, float]] = {}
    for rule in rules:
        for label, sign, bound in _BOUND.findall(rule):
            least, most = bounds.get(label, (0.0, 0.0))
            bounds[label] = (float(bound), most) if sign == "<" else (least, float(bound))
    for label, (least, most) in bounds.items():
        found[_home(label, sets)].scores[label] = (least, most or least * 2)
    for span in spans:
        for label in _SPAN.findall(span):
            found[_home(label, sets)].spans.append(label)
    return found


def _home(label: str, sets: Sequence[str]) -> str:
    return next((name for name in sets if label.startswith(name)), sets[min(1, len(sets) - 1)])


def write_documents(folder: Path, texts: Iterator[str], files: int) -> tuple[int, int]:
    """Writes documents in Dolma's format; equal on each machine.

    Args:
        folder: receives `documents/<number>.json.gz`.
        texts: of the documents.
        files: how many.

    Returns:
        The rows, and their bytes.
    """
    paths = [folder / "documents" / f"{number}.json.gz" for number in range(files)]
    paths[0].parent.mkdir(parents=True)
    outs = [gzip.open(path, "wb", 6) for path in paths]  # noqa: SIM115 - closed below
    rows = size = 0
    for rows, text in enumerate(texts, 1):
        metadata = {"url": f"https://example.org/{rows}", "length": len(text)}
        row = {"id": f"{rows:08}", "text": text, "source": "bench", "added": "2023-04-11T09:57:03.044Z"}
        line = json.dumps({**row, "created": "2020-01-17T12:48:23Z", "metadata": metadata}, ensure_ascii=False).encode()
        outs[rows % files].write(line + b"\n")
        size += len(line) + 1
    for out in outs:
        out.close()
    return rows, size


def write_attributes(folder: Path, sets: Mapping[str, LabelPlan]) -> None:
    """Writes attributes beside the documents of a folder, in the form of Dolma's taggers."""
    draw = Random(16)  # noqa: S311 - attributes of a bench, no secret
    for path in sorted((folder / "documents").iterdir()):
        for name, plan in sets.items():
            beside = folder / "attributes" / name / path.name
            beside.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(path, "rb") as documents, gzip.open(beside, "wt", 6) as out:
                for line in documents:
                    row = json.loads(line)
                    attributes = plan.drawn(len(row["text"]), draw)
                    out.write(json.dumps({"id": row["id"], "attributes": attributes, "source": "bench"}) + "\n")
