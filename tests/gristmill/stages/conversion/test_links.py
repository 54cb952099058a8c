"""A link becomes a file, or a file a link, and the bytes stay: a reader that leaves links out makes something else."""

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill

from gristmill.lake.address import Place
from gristmill.lake.ledger.receipts import raw_stamps
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep

RECIPE = """from gristmill.readers.code.code_files import CodeFiles
from gristmill.recipes.source import Hashed, OneToOne, Source

ONE = Source(name="%s", description="code", homepage="https://example.org", licence="MIT", shards=%s,
             convert=CodeFiles(source="%s"))
"""
SHARDS = {"code": "OneToOne()", "one": "Hashed(1)"}
CODE = "def one():\n    return 1\n"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A shelf with the sources `code` and `one`: workers look recipes up by their names."""
    top = tmp_path_factory.mktemp("shelf")
    recipes = {f"sources/{name}.py": RECIPE % (name, by, name) for name, by in SHARDS.items()}
    for path, text in {"__init__.py": "", "sources/__init__.py": "", **recipes}.items():
        (top / "changedlinks" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "changedlinks" / path).write_text(text)
    sys.path.insert(0, str(top))
    yield "changedlinks"
    sys.path.remove(str(top))


def step_of(shelf: str, source: str = "code") -> ConversionStep:
    return ConversionStep(find_recipe("sources", Source, (shelf,), source), SNAPSHOT, (shelf,))


@pytest.fixture
def raw(mill: Mill, tmp_path: Path) -> Path:
    """A snapshot with a file, a link, and a folder; `disk` beside the lake has what links lead to."""
    found = mill.root / "sources/code/raw" / SNAPSHOT
    for folder in (found / "owner", tmp_path / "disk"):
        folder.mkdir(parents=True)
    (tmp_path / "disk/link.py").write_text(CODE)
    (found / "link.py").symlink_to(tmp_path / "disk/link.py")
    (found / "file.py").write_text(CODE)
    (found / "owner/folder.py").write_text(CODE)
    return found


def forget(mill: Mill, place: Place) -> None:
    """Removes the links from a note: earlier versions did not record them."""
    file = mill.root / place.run
    note = json.loads(file.read_text())
    for stamp in note["raw"].values():
        stamp.pop("link", None)
    file.write_text(json.dumps(note))


def swap(raw: Path, disk: Path) -> None:
    """The link becomes the file, and the file a link; their bytes stay."""
    (disk / "link.py").rename(raw / "link.py")
    (raw / "file.py").rename(disk / "file.py")
    (raw / "file.py").symlink_to(disk / "file.py")


@pytest.mark.parametrize("version", ["this", "an earlier one"])
def test_a_link_that_becomes_a_file_is_read_and_a_file_that_becomes_a_link_is_left_out(
    mill: Mill, tmp_path: Path, shelf: str, raw: Path, version: str
) -> None:
    step = step_of(shelf)
    assert mill.make(step).totals["rows"] == 2
    if version != "this":
        forget(mill, step.made_place)
    swap(raw, tmp_path / "disk")
    assert mill.make(step).totals["rows"] == 2
    assert mill.ground == ["file.py", "link.py"]
    assert mill.ids(step.made_place, "link.py") == ["link.py"]
    assert mill.ids(step.made_place, "file.py") == []
    mill.make(step)
    assert mill.ground == []


def test_a_folder_that_becomes_a_link_is_left_out_though_its_files_are_the_very_same(
    mill: Mill, tmp_path: Path, shelf: str, raw: Path
) -> None:
    step = step_of(shelf)
    mill.make(step)
    (raw / "owner").rename(tmp_path / "disk/owner")
    (raw / "owner").symlink_to(tmp_path / "disk/owner")
    assert mill.make(step).totals["rows"] == 1
    assert mill.ground == ["owner/folder.py"]


@pytest.mark.parametrize("version", ["this", "an earlier one"])
def test_links_that_stay_are_not_read_again_nor_are_links_in_an_archive(
    mill: Mill, shelf: str, raw: Path, version: str
) -> None:
    with tarfile.open(raw / "repo.tar", "w") as tar:
        for name, kind in (("a.py", tarfile.REGTYPE), ("b.py", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(CODE) if kind == tarfile.REGTYPE else 0, kind, "a.py"
            tar.addfile(info, io.BytesIO(CODE.encode()))
    step = step_of(shelf)
    assert mill.make(step).totals["rows"] == 3
    assert {name: stamp.link for name, stamp in raw_stamps(mill.store, step.made_place).items()} == {
        "file.py": "", "link.py": "link.py", "owner/folder.py": "", "repo.tar": "",
    }  # fmt: skip
    if version != "this":
        forget(mill, step.made_place)
    before = (mill.root / step.made_place.ledger).read_bytes()
    mill.make(step)
    assert mill.ground == []
    assert (mill.root / step.made_place.ledger).read_bytes() == before


def test_of_an_earlier_version_the_links_of_a_shard_of_many_objects_are_counted(
    mill: Mill, tmp_path: Path, shelf: str, raw: Path
) -> None:
    raw.parents[1].rename(mill.root / "sources/one")
    step, there = step_of(shelf, "one"), mill.root / "sources/one/raw" / SNAPSHOT
    assert mill.make(step).totals["rows"] == 2
    forget(mill, step.made_place)
    mill.make(step)
    assert mill.ground == []
    (tmp_path / "disk/link.py").rename(there / "link.py")
    assert mill.make(step).totals["rows"] == 3


def test_nothing_is_recorded_of_links_for_a_reader_that_does_not_ask(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    assert "link" not in json.loads((mill.root / mill.documents().run).read_text())["raw"]["a.jsonl.gz"]
