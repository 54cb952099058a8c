"""What ships goes through the doors of plug-ins: every tagger, transform and reader of ours is in the table."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import gristmill
from gristmill.plugins import Door
from gristmill.recipes.edits.transform import TRANSFORMS, Transform
from gristmill.recipes.reader import READERS, Reader
from gristmill.recipes.tagger import TAGGERS, Tagger
from gristmill.shipped import SHIPPED

IN_WINGS = {"readers": ("gristmill.energon.readers",)}
_BASES = {"gristmill.readers.files.raw_files:FileDocuments", "gristmill.readers.records:RowDocuments"}


def declared(kind: str, wanted: type) -> Iterator[str]:
    """The places of all objects of a type, or of all classes below it, that a room declares."""
    rooms = [import_module(name) for name in (f"gristmill.{kind}", *IN_WINGS.get(kind, ()))]
    for found in chain.from_iterable(pkgutil.walk_packages(room.__path__, f"{room.__name__}.") for room in rooms):
        for name, value in vars(import_module(found.name)).items():
            own = inspect.isclass(value) and issubclass(value, wanted) and value.__module__ == found.name
            if own or isinstance(value, wanted):
                yield f"{found.name}:{name}"


def test_the_table_has_the_grinder_of_each_wing() -> None:
    folder = Path(gristmill.__file__).parent
    files = [path.relative_to(folder.parent) for path in folder.rglob("grinder.py")]
    modules = {".".join(path.with_suffix("").parts) for path in files if path.parts[1] != "stages"}
    assert modules == set(SHIPPED["grinders"].values())
    assert all(callable(import_module(module).grinder) for module in modules)


@pytest.mark.parametrize(
    ("door", "wanted"),
    [(TAGGERS, Tagger), (TRANSFORMS, Transform), (READERS, Reader)],
    ids=["taggers", "transforms", "readers"],
)
def test_the_table_has_all_that_a_room_declares_and_each_entry_fits(door: Door[Any], wanted: type) -> None:
    assert set(declared(door.kind, wanted)) - _BASES == set(SHIPPED[door.kind].values())
    for name in SHIPPED[door.kind]:
        assert door.load(name)
