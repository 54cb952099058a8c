"""What the tests of the lake share: a lake in a folder, its raw data, and runs over it that say what they ground."""

import gzip
import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.errors import StoreError
from gristmill.execution.checks import Check
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, make
from gristmill.execution.work import Done, Engine, Item, Job
from gristmill.lake.address import (
    Place,
    attributes_asset,
    blocklist_path,
    documents_asset,
    mix_asset,
    place,
    raw_folder,
)
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.rows.blocklists.blocklist_files import (
    blocklist_record_path,
    decode_reasons,
    recorded_entries,
    remove_rows,
)
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.open import Lake
from gristmill.recipes import catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.tagging.step import TaggingStep

if TYPE_CHECKING:
    from gristmill.lake.store.protocol import Store

SHELVES = ("gristmill", "testshelf")
SNAPSHOT = "2024"

_runs = itertools.count(1)


def make_documents(count: int, start: int = 0, source: str = "pages") -> list[dict[str, Any]]:
    """Documents `doc-00000`, `doc-00001`, ...; number n has n % 5 + 1 words, the even ones are English."""
    return [
        {
            "id": f"doc-{n:05d}",
            "text": " ".join(["word"] * (n % 5 + 1)),
            "source": source,
            "added": "2024-01-01T00:00:00Z",
            "metadata": {"number": n, "language": "fr" if n % 2 else "en"},
        }
        for n in range(start, start + count)
    ]


def put_list(store: "Store", data: bytes, name: str = "takedowns") -> None:
    """Puts a blocklist. What it does not name any more is taken back, as by `gristmill takedown --retract`."""
    path = blocklist_path(name)
    store.put(path, data)
    if any(recorded_entries(store, name)):
        remove_rows(
            store,
            blocklist_record_path(name),
            recorded_entries(store, name).keys() - decode_reasons([data] if data else [], path).keys(),
        )


def lines(rows: Iterable[Any]) -> bytes:
    """Rows as JSON lines; bytes are taken as they are."""
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


def packed(rows: Iterable[Any]) -> bytes:
    """Rows as JSON lines in gzip."""
    return gzip.compress(lines(rows), mtime=0)


def link(source: Path, target: Path, *, shared: bool = True) -> Path:
    """A lake as if it had been made at `target`, in no time.

    Objects are never changed in place, so their files may have two names. Files that name the lake are written anew.
    A test that changes bytes, times or modes of a file in place asks for files of its own: `shared=False`.
    """
    copy = os.link if shared else shutil.copy2
    shutil.copytree(source, target, copy_function=copy, ignore=shutil.ignore_patterns(".lock"))
    for path in [*target.rglob("data.yaml"), *target.rglob("cache_catalog.json")]:
        data = path.read_bytes().replace(f'"{source}/'.encode(), f'"{target}/'.encode())
        path.unlink()
        path.write_bytes(data)
    return target


class Recorder:
    """An engine that remembers which shards it was given."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.names: list[str] = []

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        yield from self._engine.map(job, self._noted(items))

    def _noted(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.names.append(item.name)
            yield item


class Stopping:
    """An engine that breaks off after a number of shards, as a run does that is killed."""

    def __init__(self, after: int) -> None:
        self._after = after

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        for number, done in enumerate(Inline().map(job, items), start=1):
            yield done
            if number == self._after:
                raise KeyboardInterrupt


@dataclass(frozen=True)
class Unchecked(ConversionStep):
    """Conversion that publishes whatever its converter made: faults for checks to find."""

    def checks(self, asset: str) -> dict[str, Check]:  # noqa: ARG002 - none, whatever the asset
        return {}


class Meanwhile:
    """An engine that lets something happen in the lake after the plan, before the first shard."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        self._happens()
        yield from Inline().map(job, items)


class Mill:
    """A lake, and the runs over it; `ground` is what the last run ground, sorted."""

    def __init__(self, root: Path, url: str | None = None, options: dict[str, str] | None = None) -> None:
        self.root = root
        self.lake = Lake(url or str(root), options or {})
        self.store: Store = self.lake.store()
        self.ground: list[str] = []
        self.said: list[str] = []

    # raw data

    def raw(self, name: str, rows: Iterable[Any] | bytes, source: str = "pages", snapshot: str = SNAPSHOT) -> None:
        """Puts a raw object: rows as JSON lines in gzip, or bytes as they are."""
        data = rows if isinstance(rows, bytes) else packed(rows)
        self.store.put(raw_folder(source, snapshot) + name, data)

    def raw_shards(self, count: int, rows: int = 10) -> None:
        """`a.jsonl.gz`, `b.jsonl.gz`, ... with so many documents each, numbered through."""
        for number in range(count):
            self.raw(f"{chr(97 + number)}.jsonl.gz", make_documents(rows, start=number * rows))

    # runs

    def make(self, step: Step, engine: Engine | None = None, *, force: bool = False) -> Ledger:
        """One step; the ledger of its first asset."""
        recorder = Recorder(engine or Inline())
        token = f"run-{next(_runs)}-{os.getpid()}-{threading.get_ident()}"
        try:
            made = make(step, self.lake, recorder, token, self.said.append, force=force)
        finally:
            self.ground = sorted(recorder.names)
        return next(iter(made.values()))

    def source(self, name: str = "pages") -> Source:
        return find_recipe("sources", Source, SHELVES, name)

    def conversion(self, source: str = "pages", snapshot: str = SNAPSHOT) -> ConversionStep:
        return ConversionStep(self.source(source), snapshot, SHELVES)

    def convert(self, source: str = "pages", snapshot: str = SNAPSHOT, engine: Engine | None = None) -> Ledger:
        return self.make(self.conversion(source, snapshot), engine)

    def convert_unchecked(self, source: str = "pages") -> Ledger:
        return self.make(Unchecked(self.source(source), SNAPSHOT, SHELVES))

    def tagging(self, *names: str, version: str = "v0", source: str = "pages") -> TaggingStep:
        taggers = tuple(find_recipe("taggers", Tagger, SHELVES, name) for name in names)
        return TaggingStep(source, version, SNAPSHOT, taggers, SHELVES)

    def tag(self, *names: str, engine: Engine | None = None, version: str = "v0", source: str = "pages") -> Ledger:
        return self.make(self.tagging(*names, version=version, source=source), engine)

    def revise(self, source: str = "pages", version: str = "v1", engine: Engine | None = None) -> Ledger:
        return self.make(revision_step(self.source(source), version, SNAPSHOT, SHELVES), engine)

    def mix(self, stream: Stream, *, draft: bool = False, engine: Engine | None = None) -> Ledger:
        chosen = Mix(name="blend", streams=(stream,), draft=draft)
        return self.make(stream_step(chosen, stream.key, SNAPSHOT, SHELVES), engine)

    # what is there

    def documents(self, version: str = "v0", source: str = "pages") -> Place:
        return place(documents_asset(source, version), SNAPSHOT)

    def attributes(self, name: str, version: str = "v0", source: str = "pages") -> Place:
        return place(attributes_asset(source, version, name), SNAPSHOT)

    def stream(self, name: str = "pages") -> Place:
        return place(mix_asset("blend", name), SNAPSHOT)

    def lines(self, path: str) -> list[bytes]:
        """The rows of a shard as bytes."""
        return [line for block in read_blocks(self.store, path) for line in split_rows(block)]

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The rows of a shard."""
        return [json.loads(line) for line in self.lines(path)]

    def ids(self, where: Place, shard: str) -> list[str]:
        return [row["id"] for row in self.rows(where.shard(shard))]

    def table(self, where: Place) -> dict[str, Shard]:
        """The table of a finished partition, by shard."""
        return {shard.name: shard for shard in read_ledger(self.store, where)[1]}

    def tree(self) -> dict[str, bytes]:
        """Every object and its bytes, but for what is this very lake's: its id, and stamps in the notes of runs."""
        return {
            entry.path: self.store.read(entry.path)
            for entry in self.store.list("")
            if not entry.path.endswith(".run.json") and entry.path != LAKE_FILE
        }

    def stamps(self) -> dict[str, str]:
        """Every object and its etag, notes about runs included."""
        return {entry.path: entry.etag for entry in self.store.list("")}

    def verify(self, *places: Place) -> None:
        """Every object that the ledgers name is there and has the bytes they name."""
        for where in places:
            for shard in read_ledger(self.store, where)[1]:
                for _ in read_blocks(self.store, where.shard(shard.name), shard.sha256):
                    pass
            if list(self.store.list(where.receipts_folder)):
                raise StoreError(f"{where.receipts_folder}: receipts were left behind")


def flat(chunks: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Lists of rows as one list."""
    return [row for chunk in chunks for row in chunk]


def notes(mill: Mill, *texts: str, name: str = "a.txt") -> None:
    """Puts a raw object of the source `notes`: one text on each line."""
    mill.raw(name, "\n".join(texts).encode(), source="notes")


def own_shelf(mill: Mill, kind: str, recipe: str) -> None:
    """Declares a recipe on a shelf beside the lake: the package `own_<kind>`, of which no module is loaded yet."""
    for name in [each for each in sys.modules if each.split(".")[0] == f"own_{kind}"]:
        del sys.modules[name]
    folder = mill.root.parent / f"own_{kind}" / kind
    folder.mkdir(parents=True, exist_ok=True)
    for each in (folder.parent, folder):
        (each / "__init__.py").touch()
    (folder / "recipe.py").write_text(recipe)
    catalogue._read_once.cache_clear()  # noqa: SLF001 - else a lake of another test would give its recipes
