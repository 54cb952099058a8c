"""Lakes to do mischief to: as they are before each step, and as each step leaves them when nothing disturbs it."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mishaps.process import Process, one_step
from one_step import EXPORTS, STEPS, work
from testkit import SNAPSHOT, Mill, link, make_documents

from gristmill.execution.runner import Inline
from gristmill.execution.work import Engine
from gristmill.lake.address import raw_folder
from gristmill.lake.ledger.derived import columns_path, examples_path
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.lake.ledger.receipts import objects_of_row
from gristmill.lake.store.protocol import Store
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit

EDITIONS = (1, 2)
"""The raw data as they first come; then changed: a shard is another, one is gone, one is new."""

ROWS = 40
CASES = tuple((step, edition) for edition in EDITIONS for step in STEPS)

Tree = dict[str, bytes]
"""Every object and its bytes; of notes about runs only the name."""


def raw_rows(number: int, edition: int) -> list[dict[str, Any] | bytes]:
    """Documents of one raw shard, and a row that is refused."""
    rows: list[dict[str, Any] | bytes] = [*make_documents(ROWS, start=number * ROWS)]
    if edition == 2 and number == 3:
        rows = rows[5:]
    return [*rows, b"no document"] if number % 4 == 1 else rows


def raw_name(number: int) -> str:
    return f"{number % 3}/{number:02d}.jsonl.gz"


def put_raw(mill: Mill, shards: int, edition: int) -> None:
    """Puts what an edition has and the lake has not, and removes the rest: one is another, one new, one gone."""
    folder = raw_folder("pages", SNAPSHOT)
    numbers = range(shards) if edition == 1 else [n for n in range(shards + 1) if n != 5]
    known = {entry.path.removeprefix(folder) for entry in mill.store.list(folder)}
    wanted = {raw_name(n): raw_rows(n, edition) for n in numbers}
    for name, rows in wanted.items():
        if name not in known or name == raw_name(3):
            mill.raw(name, rows)
    mill.store.delete([folder + name for name in sorted(known - set(wanted))])


def tree_of(mill: Mill) -> Tree:
    """The lake, object by object; receipts and claims, if any were left, are objects too."""
    return {entry.path: _bytes_of(mill.store, entry.path) for entry in mill.store.list("") if entry.path != LAKE_FILE}


def _bytes_of(store: Store, path: str) -> bytes:
    """What must be the same everywhere: Levanter's configuration names the lake's own address."""
    if path.endswith(".run.json"):
        return b""
    data = store.read(path)
    moved = path.endswith(("/data.yaml", "/cache_catalog.json"))
    return re.sub(rb'"[^"]*/(?=tokenizers/|token_caches/)', b'"', data) if moved else data


class Lakes:
    """The small lake of two editions before and after each step.

    Attributes:
        after: the lake after each (step, edition).
        shards: raw shards of the first edition.
    """

    def __init__(self, folder: Path, shards: int = 12) -> None:
        self.folder = folder
        self.shards = shards
        self.after: dict[tuple[str, int], Tree] = {}
        self._measured: dict[tuple[str, int, int], Process] = {}
        self._number = 0
        root = folder / "undisturbed"
        root.mkdir(parents=True)
        mill = Mill(root)
        for step, edition in CASES:
            if step == STEPS[0]:
                put_raw(mill, shards, edition)
            link(root, self._before(step, edition))
            work(mill, step, Inline(), mill.said.append)
            self.after[step, edition] = tree_of(mill)
            undisturbed = self.copy_of(root)
            check_lake(undisturbed, self.after[step, edition], step)
            self.remove(undisturbed)
        assert not list(unnamed(mill.store)), list(unnamed(mill.store))

    def _before(self, step: str, edition: int) -> Path:
        return self.folder / f"before-{step}-{edition}"

    def copy(self, step: str, edition: int) -> Mill:
        """A fresh lake as it is before a step."""
        return self.copy_of(self._before(step, edition))

    def copy_of(self, root: Path) -> Mill:
        """A fresh copy of a lake."""
        self._number += 1
        return Mill(link(root, self.folder / f"case-{self._number}"))

    def upload(self, mill: Mill, step: str, edition: int) -> Mill:
        """The same into another lake."""
        here = Mill(self._before(step, edition))
        for entry in here.store.list(""):
            mill.store.put(entry.path, here.store.read(entry.path))
        return mill

    def remove(self, mill: Mill) -> None:
        """The case is closed."""
        if mill.root.parent == self.folder:
            shutil.rmtree(mill.root)

    def seconds(self, step: str, edition: int, workers: int) -> dict[str, float]:
        """How long each phase of a step takes when nothing disturbs it."""
        return self._undisturbed(step, edition, workers).seconds()

    def changes(self, step: str, edition: int) -> list[str]:
        """The phase of each change that a step makes to the lake's folder, in order."""
        found: list[str] = json.loads(self._undisturbed(step, edition, 0).said[-1].removeprefix("changes "))
        return found

    def _undisturbed(self, step: str, edition: int, workers: int) -> Process:
        """A process that has done a step in peace."""
        if (step, edition, workers) not in self._measured:
            mill = self.copy(step, edition)
            process = one_step(str(mill.root), step, workers)
            process.finish()
            check_lake(mill, self.after[step, edition], step)
            self._measured[step, edition, workers] = process
            self.remove(mill)
        return self._measured[step, edition, workers]

    @property
    def whole(self) -> Mapping[int, Tree]:
        """The whole lake of each edition."""
        return {edition: self.after[STEPS[-1], edition] for edition in EDITIONS}


def run_again(mill: Mill, step: str, expected: Tree, engine: Engine | None = None) -> None:
    """Runs again what was disturbed; looks whether all is well; and that a third run finds nothing to do."""
    work(mill, step, engine or Inline(), mill.said.append)
    check_lake(mill, expected, step)
    before = mill.stamps()
    work(mill, step, engine or Inline(), mill.said.append)
    assert mill.stamps() == before, "the run after the last one changed something"


MADE = {
    "convert": "sources/pages/v0/documents",
    "tag": "sources/pages/v0/attributes",
    "revise": "sources/pages/v1",
    "mix": "mixes/even/documents",
    **{step: f"exports/even/{export.name}/pages" for step, export in EXPORTS.items()},
    "train": "tokenizers",
}
"""What a step makes: with a second edition, what lies below it is stale and says so. The others close the lake."""


def check_lake(mill: Mill, expected: Tree, step: str = "all") -> None:
    """`verify` is clean, every byte is as it should be, and nothing was left behind."""
    found = tree_of(mill)
    left = sorted(set(found) - set(expected))
    lost = sorted(set(expected) - set(found))
    other = sorted(path for path in set(found) & set(expected) if found[path] != expected[path])
    assert (left, lost, other) == ([], [], []), f"left behind: {left}; lost: {lost}; other bytes: {other}"
    incoming = mill.root / ".incoming"
    assert not incoming.exists() or not list(incoming.iterdir()), "files of killed writers were not swept"
    made = MADE.get(step, "")
    if step == "cache":  # the merged ledger of the parts before is not theirs
        work(mill, "index", Inline(), mill.said.append)
    for path in ledger_paths_to_audit(mill.store, made):
        wrong = audit_ledger(mill.store, path, mill.said.append)
        assert not wrong, [str(finding) for finding in wrong]


def unnamed(store: Store) -> Iterator[str]:
    """Objects that no ledger names, and that are no ledger, note, index or raw object, nor derived of them."""
    named: set[str] = set()
    for here in list_ledgers(store):
        rows = read_ledger(store, here)[1]
        named |= {here.ledger, here.run, here.table, examples_path(here)}
        named |= {path for row in rows for path, _, _ in objects_of_row(row, here)}
        named |= {columns_path(here, row.name) for row in rows}
    for entry in store.list(""):
        parts = entry.path.split("/")
        known = parts[0] in {LAKE_FILE, "tokenizers", "blocklists", "withdrawn"} or "raw" in parts or "index" in parts
        merged = parts[0] == "token_caches" and parts[-1] == "shard_ledger.json" and len(parts) == 6
        if not known and not merged and entry.path not in named:
            yield entry.path
