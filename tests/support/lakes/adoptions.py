"""An adopted dataset for tests: its steps in order, and the proof that nothing at its root has changed."""

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from testkit import Mill

from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.source import Source
from gristmill.stages.adoption.step import AdoptionStep


def adopt(mill: Mill, source: Source, snapshot: str = "all") -> dict[str, Ledger]:
    """Adopts all versions and sets of a source; the ledgers by address."""
    made: dict[str, Ledger] = {}
    for version in source.versions:
        names = [each.name for each in source.adopted_sets(version)]
        for name in [*([""] if version in source.adopts else []), *names]:
            step = AdoptionStep(source, version, snapshot, (), name, mill.lake.options)
            made[step.makes[0]] = mill.make(step)
    return made


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """Writes rows as JSON lines in gzip; strings are taken as lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return path


def document(id_: str, text: str = "some text", **more: Any) -> dict[str, Any]:
    """A document of the source `web`."""
    return {"id": id_, "source": "web", "text": text, **more}


def stamps(root: Path) -> Mapping[str, tuple[bytes, int]]:
    """The bytes and the time of the last write of each file at a root."""
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


def read_only(root: Path) -> Path:
    """Takes the right to write from a root, its folders and its files."""
    for path in [root, *root.rglob("*")]:
        os.chmod(path, 0o555 if path.is_dir() else 0o444)  # noqa: PTH101 - not of links
    return root
