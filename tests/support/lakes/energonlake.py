"""A small lake with a mix of two streams and its exports to Energon, for tests."""

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import yaml  # type: ignore[import-untyped]
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.energon.formats.sqlite_index import index_rows
from gristmill.execution.work import Engine
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.export import Export, ExportFormat
from gristmill.recipes.export_formats.codec import Release
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.index import index_export, why_export_open
from gristmill.stages.export.part import ExportedPart
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import Index
from gristmill.stages.mixing.step import stream_step
from gristmill.verification.audit import audit_ledger

EXPORT = export_asset("blend", "energon", "pages")
HERE = place(EXPORT, SNAPSHOT)
INDEX = export_index("blend", "energon")


def mix_of(**options: Any) -> Mix:
    return Mix(name="blend", streams=(Stream(source="pages", version="v0", weight=3.0),), **options)


def export_of(declared: ExportFormat) -> Export:
    return Export(name="energon", mixes=("blend",), format=declared)


def start(root: Path, shards: int = 2, rows: int = 10) -> Mill:
    """A lake with the documents of the mix."""
    root.mkdir(exist_ok=True)
    mill = Mill(root)
    mill.raw_shards(shards, rows)
    return mixed(mill)


def mixed(mill: Mill, mix: Mix | None = None) -> Mill:
    """The lake with its documents and the slice of the mix made."""
    mill.convert()
    mill.make(stream_step(mix or mix_of(), "pages", SNAPSHOT, SHELVES))
    return mill


def export(mill: Mill, declared: ExportFormat, mix: Mix | None = None, engine: Engine | None = None) -> Ledger:
    return mill.make(ExportStep(mix or mix_of(), "pages", export_of(declared), SNAPSHOT, SHELVES), engine)


def close(mill: Mill, declared: ExportFormat, mix: Mix | None = None) -> Index:
    sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT]}
    return index_export(mill.store, mix or mix_of(), export_of(declared), sources, known)


def why(mill: Mill, declared: ExportFormat, mix: Mix | None = None) -> tuple[str, ...]:
    sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT]}
    return why_export_open(mill.store, mix or mix_of(), export_of(declared), sources, known)


def records(mill: Mill) -> dict[str, ExportedPart]:
    """The record of each part, by the name of the mix's shard."""
    return {row.name: ExportedPart.decode_from_row(row, HERE.table) for row in read_ledger(mill.store, HERE)[1]}


def release_of(mill: Mill) -> Release:
    found = read_release(mill.store, INDEX)
    assert found is not None
    return found


def found(mill: Mill, path: str) -> list[str]:
    """What `verify` finds about an asset, by the path of its ledger."""
    return [str(finding) for finding in audit_ledger(mill.store, path, mill.said.append)]


def meta(mill: Mill, name: str) -> bytes:
    """A file in `.nv-meta` of the release."""
    return mill.store.read(f"{release_of(mill).folder}.nv-meta/{name}")


def excluded(mill: Mill) -> list[str]:
    """What the release leaves out: `exclude` of split.yaml."""
    return list(yaml.safe_load(meta(mill, "split.yaml"))["exclude"])


def named_metadatasets(mill: Mill) -> list[str]:
    """The paths of the metadatasets that have a digest in their names."""
    return [entry.path for entry in mill.store.list(f"{INDEX}/") if "/metadataset-" in entry.path]


def indexed(mill: Mill) -> list[tuple[int, str, int]]:
    """Each sample in the index of the release: number of its tar, key, number in the tar. All have parts."""
    with NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(mill.store.read(f"{release_of(mill).folder}.nv-meta/index.sqlite"))
        file.flush()
        rows = [(int(row[0]), str(row[1]), int(row[2])) for row in index_rows(Path(file.name), "samples")]
        parts = {(row[0], row[1]) for row in index_rows(Path(file.name), "sample_parts")}
    assert parts == {(tar, number) for tar, _, number in rows}
    return rows


def offsets(data: bytes) -> list[int]:
    """The integers of an index of samples."""
    return [int(each) for each in np.frombuffer(data, "<u8")]
