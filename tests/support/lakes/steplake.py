"""A small lake with everything, the steps that made it, and the objects that each of them reads: found by looking.

No list names them. A profiler sees each step that is planned while the lake is made; the store then tells which objects
a step reads while it is made again.
"""

import contextlib
import importlib
import io
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
import xxhash
from resealed import Seals
from testkit import Meanwhile
from widelake import make_targets

import gristmill.stages
from gristmill.execution.step import Step, make, plan
from gristmill.lake.address import Place, place, place_of_ledger
from gristmill.lake.asset_kinds import KINDS, kind_of, ledger_of_object, owner_of_object
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.folder import FolderStore
from gristmill.shipped import SHIPPED

READS = ("read", "read_tagged", "read_range", "stream")
"""The calls of a store that give the bytes of an object."""


def step_classes() -> list[str]:
    """The names of all classes of steps: those in a module `step` that have a stage and a plan.

    That of the kinds of packages is left out, because this process has none.
    """
    found: list[str] = []
    for module in _modules("step"):
        found += [
            name
            for name, each in vars(module).items()
            if isinstance(each, type)
            and each.__module__ == module.__name__
            and hasattr(each, "stage")
            and ".packaged." not in each.__module__
        ]
    return sorted(found)


def stages() -> list[str]:
    """The stages that have a grinder, as jobs name them."""
    modules = [each for each in _modules("grinder") if hasattr(each, "grinder")]
    own = (each.__name__.removeprefix("gristmill.stages.").removesuffix(".grinder") for each in modules)
    return sorted({*own, *SHIPPED["grinders"]})


def _modules(name: str) -> Iterator[Any]:
    for module in pkgutil.walk_packages(gristmill.stages.__path__, "gristmill.stages."):
        if module.name.endswith(f".{name}"):
            yield importlib.import_module(module.name)


class Read(NamedTuple):
    """An object that a step reads.

    Attributes:
        path: of the object, in the lake; of an adopted file, its whole address.
        where: the partition that it belongs to; None: it belongs to none.
        row: its row of the table of this partition; None: it has none.
        role: its place in the lake without shard and part: two objects of one role are read alike.
    """

    path: str
    where: Place | None = None
    row: Shard | None = None
    role: str = ""

    @property
    def is_rows(self) -> bool:
        """Whether it is a shard of rows that a ledger names."""
        return self.row is not None and self.where is not None and "objects" not in self.row.extra


class DownSeals(Seals):
    """Seals that leave alone what a damaged object was made from: digests of ids tie both together."""

    def changed(self) -> dict[str, bytes]:
        """The objects that are others than before, and their bytes."""
        return {path: (self.root / path).read_bytes() for path in self._other()}

    def _words(self, path: str, data: bytes) -> dict[str, str]:
        found = super()._words(path, data)
        if path.endswith("/ids.gz"):
            found = {"sha256": found["sha256"]}
        found["packed"] = xxhash.xxh3_128_hexdigest(data)
        return {word: digest for word, digest in found.items() if not word.endswith(" ids")}


class StepLake:
    """The lake. Whatever a test plants in it goes when the test calls `restore`.

    Args:
        top: an empty folder, which Python imports from.
        patch: puts back what is watched.

    Attributes:
        mill: the lake.
        seals: makes digests fit what was changed.
        foreign: the adopted files that were changed, and their bytes before.
        steps: the steps, each of the latest snapshot that it was made for.
    """

    def __init__(self, top: Path, patch: pytest.MonkeyPatch) -> None:
        patch.syspath_prepend(str(top))
        self._seen: Callable[[str], object] | None = None
        with contextlib.redirect_stdout(io.StringIO()), planned_steps() as found:
            self.mill = make_targets(top / "lake")
        self.seals = DownSeals(self.mill)
        self.foreign: dict[str, bytes] = {}
        self.steps = {(type(step).__name__, step.makes): step for step in found}
        self._reads: dict[tuple[str, tuple[str, ...]], list[Read]] = {}
        # Else each bucket of so small a lake is an item, and none are read together.
        patch.setattr("gristmill.stages.dedupe.runs.step._ITEMS", 1)
        for call in READS:
            patch.setattr(FolderStore, call, self._watched(getattr(FolderStore, call)))

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def read(store: FolderStore, path: str, *rest: Any, **named: Any) -> Any:
            if self._seen is not None:
                self._seen(f"{store.url}/{path}".removeprefix(f"{self.mill.root}/"))
            return real(store, path, *rest, **named)

        return read

    @contextlib.contextmanager
    def watched(self, seen: Callable[[str], object]) -> Iterator[None]:
        """Tells of each object just before it is read.

        Args:
            seen: takes its path.
        """
        self._seen = seen
        try:
            yield
        finally:
            self._seen = None

    def steps_of(self, name: str) -> list[Step]:
        """The steps of a class, the one with the most inputs first."""
        found = [step for (of, _), step in self.steps.items() if of == name]
        return sorted(found, key=lambda step: -len(step.reads))

    def made(self, step: Step) -> list[Place]:
        """The partitions of a step."""
        return [place(asset, step.snapshot) for asset in step.makes]

    def make(self, step: Step, token: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Makes a step anew, every shard of it.

        Args:
            step: the step.
            token: names the run.
            meanwhile: happens between its plan and its first shard.
        """
        make(step, self.mill.lake, Meanwhile(meanwhile), token, self.mill.said.append, force=True)

    def reads(self, step: Step) -> list[Read]:
        """The objects that a step reads, one of each role, but for ledgers and for what it makes itself."""
        key = type(step).__name__, step.makes
        if key not in self._reads:
            paths: dict[str, None] = {}
            with self.watched(paths.setdefault):
                self.make(step, "good")
            own = {where.ledger for where in self.made(step)}
            paths = {path: None for path in paths if (self.mill.root / path).is_file()}
            paths = dict.fromkeys(sorted(paths, key=lambda path: ((self.mill.root / path).stat().st_size, path)))
            found = [self._read(path) for path in paths if "ledgers/" not in path]
            found = [each._replace(role=f"own {each.role}") if _is_of(each, own) else each for each in found]
            roles = {each.role: each for each in found if each.role and ledger_of_object(each.path) not in own}
            self._reads[key] = list(roles.values())
            self.restore()
        return self._reads[key]

    def _read(self, path: str) -> Read:
        """What an object is."""
        ledger = ledger_of_object(path)
        where = place_of_ledger(ledger) if ledger else None
        if where is None:
            adopted = self._adopted.get(path)
            if adopted is not None:
                return Read(path, *adopted, role=f"{adopted[0].asset} {adopted[0].snapshot}")
            return Read(path, role="" if path.endswith("ledger.json") else path.rpartition("/")[0])
        name = path.removeprefix(where.folder)
        for row in read_ledger(self.mill.store, where)[1]:
            if path == where.shard(row.name):
                return Read(path, where, row, f"{where.asset} {where.snapshot}")
            if path in (row.objects or {}):
                file = name.rpartition("/")[2]
                return Read(path, where, row, f"{where.asset} {where.snapshot} {file}")
        return Read(path, where, role=f"{where.asset} {name.rpartition('.')[2]}")

    @cached_property
    def _adopted(self) -> dict[str, tuple[Place, Shard]]:
        """The adopted files that the lake names, by their addresses."""
        found: dict[str, tuple[Place, Shard]] = {}
        for step in self.steps_of("AdoptionStep"):
            for where in self.made(step):
                for row in read_ledger(self.mill.store, where)[1]:
                    found[f"{self.mill.root.parent}/theirs/{row.at}"] = where, row
        return found

    def inputs(self, step: Step) -> list[Place]:
        """The partitions that a step reads, as the ledgers of what it made name them."""
        found: dict[Place, None] = {}
        for where in self.made(step):
            for each in read_ledger(self.mill.store, where)[0].inputs:
                if each.snapshot and (kind := kind_of(each.asset)) and kind.is_partitioned:
                    found[place(each.asset, each.snapshot)] = None
        return list(found)

    def restore(self) -> None:
        """Takes out what was planted, and what a run left behind."""
        self.seals.restore()
        for path, data in self.foreign.items():
            Path(path).write_bytes(data)
        self.foreign.clear()

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Writes objects and adopted files."""
        for path, data in objects.items():
            if path.startswith("/"):
                self.foreign.setdefault(path, Path(path).read_bytes())
                Path(path).unlink()
                Path(path).write_bytes(data)
            else:
                self.mill.store.put(path, data)

    def changed(self, step: Step, read: Read) -> dict[str, bytes]:
        """The objects that were changed, but for those of a step, and for what a damaged object was made from."""
        own = {where.ledger for where in self.made(step)}
        kind = read.where.kind if read.where else None
        found = {path: Path(path).read_bytes() for path in self.foreign}
        for path, data in self.seals.changed().items():
            owner = owner_of_object(path)
            ledger = ledger_of_object(path) or path
            above = kind and owner and KINDS.index(owner[0]) < KINDS.index(kind)
            if ledger not in own and not above:
                found[path] = data
        return found


def _is_of(read: Read, ledgers: Collection[str]) -> bool:
    """Whether an object belongs to a partition with one of these ledgers."""
    return read.where is not None and read.where.ledger in ledgers


@contextlib.contextmanager
def planned_steps() -> Iterator[list[Step]]:
    """The steps that are planned meanwhile, in their order."""
    found: list[Step] = []

    def look(frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG001 - Python's signature
        if event == "call" and frame.f_code is plan.__code__:
            found.append(frame.f_locals["step"])

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
