"""The code that runs is the code that a digest is taken of: no bytecode of an earlier text, no later text."""

import itertools
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.plugins import forget_installed_plugins
from gristmill.recipes.code.digest import code_of
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.tagger import Tagger

WORDS = """
from gristmill.recipes.tagger import Tagger
import {beside}

def tag(document):
    return {{"words": 1.0 + {beside}.MORE}}

TAGGER = Tagger(name="{name}-1", document=tag, description="words")
"""

_numbers = itertools.count()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an empty shelf of taggers, beside a module. Digests are kept by name, so each has another name."""
    place = tmp_path / f"ownmill{next(_numbers)}"
    (place / "taggers").mkdir(parents=True)
    (place / "taggers" / "__init__.py").touch()
    (place / "__init__.py").touch()
    (tmp_path / f"{place.name}_beside.py").write_text("MORE = 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield place
    for name in [each for each in sys.modules if each.startswith(place.name)]:
        del sys.modules[name]


def stale(file: Path, old: str, new: str) -> None:
    """Leaves bytecode of the old text of a file, which Python takes for that of the new one."""
    second = file.stat().st_mtime_ns
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP, doraise=True)
    text = file.read_text()
    assert (old in text, len(old)) == (True, len(new))
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(second, second))


def test_bytecode_of_an_earlier_text_of_the_same_size_and_time_is_not_run(package: Path) -> None:
    tagger = package / "taggers" / "count.py"
    tagger.write_text(WORDS.format(beside=f"{package.name}_beside", name="count"))
    stale(tagger, "1.0 +", "2.0 +")
    stale(package.parent / f"{package.name}_beside.py", "1.0", "5.0")
    read = read_shelf("taggers", Tagger, (package.name,))["count-1"]
    assert read.document is not None
    assert read.document(None) == {"words": 7.0}  # type: ignore[arg-type]  # it looks at no document
    assert code_of(read).problem == ""


@pytest.fixture
def plugin(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package of other people that adds a tagger, and holds a number."""
    site = package.parent / "site-packages"
    place = site / f"{package.name}_plugin"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("MORE = 1.0\n")
    info = site / f"{place.name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {place.name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[gristmill.taggers]\n{place.name}-1 = {place.name}:TAGGER\n")
    monkeypatch.syspath_prepend(str(site))
    forget_installed_plugins()
    yield place
    forget_installed_plugins()


def test_an_installed_plugin_does_not_run_from_bytecode_of_an_earlier_text(package: Path, plugin: Path) -> None:
    """Such as one that is installed with `pip install -e`, and edited."""
    tagger = package / "taggers" / "count.py"
    tagger.write_text(WORDS.format(beside=plugin.name, name="count"))
    stale(plugin / "__init__.py", "1.0", "5.0")
    read = read_shelf("taggers", Tagger, (package.name,))["count-1"]
    assert read.document is not None
    assert read.document(None) == {"words": 6.0}  # type: ignore[arg-type]  # it looks at no document
    assert code_of(read).problem == ""


def test_a_file_that_is_saved_while_a_later_one_is_imported_is_not_the_imported_one(package: Path) -> None:
    first, second = package / "taggers" / "count.py", package / "taggers" / "later.py"
    first.write_text(WORDS.format(beside=f"{package.name}_beside", name="count"))
    saves = f"from pathlib import Path\nPath({str(first)!r}).write_text({first.read_text() + '# saved'!r})\n"
    second.write_text(saves + WORDS.format(beside=f"{package.name}_beside", name="later"))
    shelf = read_shelf("taggers", Tagger, (package.name,))
    problems = {name: code_of(tagger).problem for name, tagger in shelf.items()}
    assert problems["later-1"] == ""
    assert problems["count-1"].startswith(f"{first} was edited after this process had imported it; start the command")
