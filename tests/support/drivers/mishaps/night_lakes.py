"""The lake of the nights: snapshots of three shards, of which one waits at a gate, and a red one that lacks a row."""

import gzip
from collections.abc import Sequence
from pathlib import Path

from testkit import Mill

from assets.support.facts.score_facts import score_facts
from gristmill.api import verify
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.tagging.step import TaggingStep

SOURCE, VERSION, SET, SHELVES = "gated", "v0", "gate-1", ("gateshelf",)
DOCUMENTS, ATTRIBUTES = documents_asset(SOURCE, VERSION), attributes_asset(SOURCE, VERSION, SET)


class Gate:
    """Where the tagger of a run waits, in a folder.

    Attributes:
        folder: each process that waits there has a file in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def open(self) -> None:
        """Whoever waits goes on."""
        (self.folder / "open").touch()

    def close(self) -> None:
        """From now on one waits."""
        for file in self.folder.iterdir():
            file.unlink()

    def waiting(self) -> set[int]:
        """The processes that came since it was closed."""
        return {int(said) for file in self.folder.glob("*.pid") if (said := file.read_text())}


def arrive(mill: Mill, snapshot: str, gate: Gate) -> None:
    """Raw data: three shards, and in the smallest of them a document that waits at the gate."""
    texts = {"a": ["calm"] * 60, "b": ["calm"] * 50, "c": [f"GATE {gate.folder}"]}
    for name, words in texts.items():
        rows = [{"id": f"{snapshot}-{name}{n}", "text": text, "source": SOURCE} for n, text in enumerate(words)]
        mill.raw(f"{name}.jsonl.gz", rows, SOURCE, snapshot)


def make(mill: Mill, snapshot: str) -> None:
    """Makes a snapshot in plain Python, and describes its scores. The gate must be open."""
    tagger = find_recipe("taggers", Tagger, SHELVES, SET)
    mill.make(ConversionStep(find_recipe("sources", Source, SHELVES, SOURCE), snapshot, SHELVES))
    mill.make(TaggingStep(SOURCE, VERSION, snapshot, (tagger,), SHELVES))
    made = place(ATTRIBUTES, snapshot)
    score_facts(mill.store, made, read_ledger(mill.store, made)[1], tagger.labels)


def cut_row(mill: Mill, snapshot: str) -> None:
    """A row of a snapshot is gone from an attribute shard."""
    path = place(ATTRIBUTES, snapshot).shard("a")
    rows = gzip.decompress(mill.store.read(path)).splitlines(keepends=True)
    mill.store.put(path, gzip.compress(b"".join(rows[1:]), mtime=0))


def objects(mill: Mill, snapshots: Sequence[str]) -> dict[str, bytes]:
    """All objects of these snapshots but the notes of their runs."""
    paths = [entry.path for entry in mill.store.list(f"sources/{SOURCE}/")]
    return {
        path: mill.store.read(path)
        for path in paths
        if any(part.partition(".")[0] in snapshots for part in path.split("/")) and not path.endswith(".run.json")
    }


def findings(mill: Mill) -> list[str]:
    """What `verify` finds in the whole lake."""
    return sorted(map(str, verify(mill.lake, shelves=SHELVES, say=mill.said.append)))
