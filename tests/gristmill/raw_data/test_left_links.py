"""Links whose target is gone, of a source whose reader leaves links out: what was read behind them is not lost."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill

from gristmill.errors import GristmillError
from gristmill.raw_data.scan import scan_raw
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep

RECIPE = """from gristmill.readers.code.code_files import CodeFiles
from gristmill.recipes.source import Source

READ = CodeFiles(source="code")
CODE = Source(name="code", description="code", homepage="https://example.org", licence="MIT", convert=READ)
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A shelf with the source `code`: workers look recipes up by their names."""
    top = tmp_path_factory.mktemp("shelf")
    for path, text in {"__init__.py": "", "sources/__init__.py": "", "sources/code.py": RECIPE}.items():
        (top / "linkshelf" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "linkshelf" / path).write_text(text)
    sys.path.insert(0, str(top))
    yield "linkshelf"
    sys.path.remove(str(top))


def step_of(shelf: str) -> ConversionStep:
    return ConversionStep(find_recipe("sources", Source, (shelf,), "code"), SNAPSHOT, (shelf,))


@pytest.mark.parametrize("link", ["", SNAPSHOT, f"{SNAPSHOT}/owner"])
def test_a_link_that_has_lost_its_target_is_an_error_and_no_empty_snapshot(
    mill: Mill, tmp_path: Path, shelf: str, link: str
) -> None:
    disk, raw = tmp_path / "disk", mill.root / "sources/code/raw"
    for name in ("a.py", "owner/b.py"):
        (disk / SNAPSHOT / name).parent.mkdir(parents=True, exist_ok=True)
        (disk / SNAPSHOT / name).write_text("def one():\n    return 1\n")
    (raw / link).parent.mkdir(parents=True)
    (raw / link).symlink_to(disk / link)
    if link.endswith("owner"):
        (raw / SNAPSHOT / "a.py").write_text("def one():\n    return 1\n")
    step = step_of(shelf)
    assert mill.make(step).totals["shards"] == 2
    disk.rename(tmp_path / "away")
    at = str(raw / link).removeprefix(f"{mill.root}/")
    with pytest.raises(GristmillError, match=f"{at}: .*the target of this link does not exist"):
        mill.make(step)


def test_a_link_to_nothing_behind_which_nothing_was_read_is_left_out(mill: Mill, shelf: str) -> None:
    raw = mill.root / "sources/code/raw" / SNAPSHOT
    raw.mkdir(parents=True)
    (raw / "a.py").write_text("def one():\n    return 1\n")
    (raw / "latest").symlink_to("nothing")
    assert mill.make(step_of(shelf)).totals["rows"] == 1
    assert scan_raw(step_of(shelf).source, mill.store).held == {}


@pytest.mark.parametrize("target", [".", "..", "/", "loop"])
def test_a_link_of_a_checkout_that_leads_round_is_left_out_unless_it_is_named_as_an_archive(
    mill: Mill, shelf: str, target: str
) -> None:
    checkout = mill.root / "sources/code/raw" / SNAPSHOT / "owner"
    checkout.mkdir(parents=True)
    (checkout / "a.py").write_text("def one():\n    return 1\n")
    (checkout / "loop").symlink_to(target)
    assert mill.make(step_of(shelf)).totals["rows"] == 1
    assert scan_raw(step_of(shelf).source, mill.store).held == {}
    (checkout / "loop.tar").symlink_to("loop.tar" if target == "loop" else target)
    with pytest.raises(GristmillError, match=r"owner/loop\.tar: .*(a circle without end|Too many levels)"):
        mill.make(step_of(shelf))
