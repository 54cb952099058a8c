"""A small lake with a mix and its export to OSCAR, for tests."""

from pathlib import Path
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.execution.work import Engine
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.export import Export, Oscar
from gristmill.recipes.export_formats.codec import Release
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.index import index_export, why_export_open
from gristmill.stages.export.part import ExportedPart
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import Index
from gristmill.stages.mixing.step import stream_step

EXPORT = export_asset("blend", "oscar", "pages")
HERE = place(EXPORT, SNAPSHOT)
INDEX = export_index("blend", "oscar")


def mix_of(**options: Any) -> Mix:
    return Mix(name="blend", streams=(Stream(source="pages", version="v0"),), **options)


def export_of(declared: Oscar | None = None) -> Export:
    return Export(name="oscar", mixes=("blend",), format=declared or Oscar())


def step_of(mix: Mix | None = None, declared: Oscar | None = None) -> ExportStep:
    return ExportStep(mix or mix_of(), "pages", export_of(declared), SNAPSHOT, SHELVES)


def start(root: Path, shards: int = 2, rows: int = 10) -> Mill:
    """A lake with the documents of the mix: the even ones are English, the others French."""
    root.mkdir()
    mill = Mill(root)
    mill.raw_shards(shards, rows)
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    return mill


def export(mill: Mill, mix: Mix | None = None, declared: Oscar | None = None, engine: Engine | None = None) -> Ledger:
    return mill.make(step_of(mix, declared), engine)


def close(mill: Mill, mix: Mix | None = None, declared: Oscar | None = None, *more: str) -> Index:
    sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT, *more]}
    return index_export(mill.store, mix or mix_of(), export_of(declared), sources, known)


def why(mill: Mill, mix: Mix | None = None, declared: Oscar | None = None, *more: str) -> tuple[str, ...]:
    sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT, *more]}
    return why_export_open(mill.store, mix or mix_of(), export_of(declared), sources, known)


def records(mill: Mill) -> dict[str, ExportedPart]:
    """The record of each part, by the name of the mix's shard."""
    return {row.name: ExportedPart.decode_from_row(row, HERE.table) for row in read_ledger(mill.store, HERE)[1]}


def release_of(mill: Mill) -> Release:
    found = read_release(mill.store, INDEX)
    assert found is not None
    return found


def released(mill: Mill) -> dict[str, bytes]:
    """The files of the release, by their paths below its folder."""
    folder = release_of(mill).folder
    return {entry.path.removeprefix(folder): mill.store.read(entry.path) for entry in mill.store.list(folder)}
