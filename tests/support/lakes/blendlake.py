"""A lake with a mix of two streams, its token caches and its exports to Energon, which a test changes step by step."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill, notes, put_list

from gristmill.execution.step import Step
from gristmill.lake.address import export_index
from gristmill.recipes.export import Export, ExportFormat
from gristmill.recipes.export_formats.codec import Release
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

STREAMS = ("pages", "notes")
BLOCKS = "takedowns"
TOKENIZER = Tokenizer(name="bytes-1", training=Training(mix="blend", snapshots={"pages": (SNAPSHOT,)}, vocabulary=258))
BYTES = 9
"""Bytes of each document, and its tokens but for those at its start and end: no two bytes are merged."""


def page(number: int) -> dict[str, Any]:
    """A document of the stream `pages`."""
    text = f"page {number:04}"
    return {"id": f"page-{number:04}", "text": text, "source": "pages", "added": "2024-01-01T00:00:00Z"}


def note(number: int) -> str:
    """The line of a document of the stream `notes`."""
    return f"note-{number:04} note {number:04}"


@dataclass(frozen=True)
class Blend:
    """The lake, the mix and its exports, by name; `options` are of the mix."""

    mill: Mill
    exports: Mapping[str, ExportFormat]
    weights: Mapping[str, float]
    validation: float = 0.0
    token_budget: int | None = None
    repeats: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mix(self) -> Mix:
        """The recipe of the mix."""
        streams = tuple(
            Stream(source=name, version="v0", weight=weight, repeats=self.repeats.get(name, 1.0), blocklists=(BLOCKS,))
            for name, weight in self.weights.items()
        )
        options = {"validation": self.validation, "token_budget": self.token_budget, **self.options}
        return Mix(name="blend", streams=streams, **options)

    def write(self, pages: Mapping[str, range], count: int = 0) -> None:
        """Raw data: the pages of each file, as `2024/a`, and so many notes."""
        if self.mill.store.head(f"blocklists/{BLOCKS}.jsonl") is None:
            self.block()
        for name, numbers in pages.items():
            snapshot, _, file = name.partition("/")
            self.mill.raw(f"{file}.jsonl.gz", map(page, numbers), snapshot=snapshot)
        if count:
            notes(self.mill, *map(note, range(count)))

    def block(self, *ids: str) -> None:
        """Writes the blocklist: pages that must never come out."""
        rows = [{"source": "pages", "id": each, "reason": "asked"} for each in ids]
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        put_list(self.mill.store, data, BLOCKS)

    def make(self, *snapshots: str, tokens: bool = False) -> None:
        """Makes the documents, the mix, and the exports of some snapshots, then the indexes."""
        for stream in self.weights:
            for snapshot in snapshots if stream == "pages" else (SNAPSHOT,):
                self.mill.convert(stream, snapshot)
                self.mill.make(stream_step(self.mix, stream, snapshot, SHELVES))
                for name in self.exports:
                    self.mill.make(self._export_step(name, stream, snapshot))
        if tokens:
            make_tokenizer(self.mill.store, TOKENIZER, self.mill.said.append)
            for stream in self.weights:
                self.mill.make(TokenCacheStep(self.mix, stream, TOKENIZER, SNAPSHOT, SHELVES))
        self.index(*snapshots)

    def _export_step(self, name: str, stream: str, snapshot: str) -> Step:
        return ExportStep(self.mix, stream, self._export(name), snapshot, SHELVES)

    def _export(self, name: str) -> Export:
        return Export(name=name, mixes=("blend",), format=self.exports[name])

    def index(self, *snapshots: str) -> None:
        """Makes the indexes alone."""
        sources = {stream: self.mill.source(stream) for stream in self.weights}
        known: dict[str, Sequence[str]] = dict.fromkeys(self.weights, (SNAPSHOT,))
        for name in self.exports:
            index_export(self.mill.store, self.mix, self._export(name), sources, {**known, "pages": snapshots})

    def release(self, name: str) -> Release:
        """The release that the index of an export names."""
        found = read_release(self.mill.store, export_index("blend", name))
        assert found is not None
        return found
