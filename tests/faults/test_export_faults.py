"""Exports to Energon: runs at once of one partition and of one index; an index that dies before each of its changes.

Who opens `metadataset.yaml` at any moment finds a whole release, the old one or the new one.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import energonlake
import pytest
from dying import at_once, deaths
from testkit import Mill, link

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.lake.address import blocklist_path
from gristmill.recipes.export import ExportFormat
from gristmill.recipes.mix import Mix, Stream
from gristmill.stages.export.release import WRITING, read_release
from gristmill.verification.audit import audit_ledger

LINES = EnergonJsonl(file_bytes=1_000_000)
TARS = EnergonWebdataset(parts={"txt": "text"}, shard_samples=4)
FORMATS = pytest.mark.parametrize(
    "declared", [pytest.param(LINES, marks=pytest.mark.slow), TARS], ids=lambda each: each.type
)
LISTED = Mix(name="blend", streams=(Stream(source="pages", version="v0", blocklists=("takedowns",)),))

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    """A lake with the mix, whose blocklist is empty."""
    mill = Mill(tmp_path_factory.mktemp("mixed") / "lake")
    mill.raw_shards(2, 10)
    mill.store.put(blocklist_path("takedowns"), b"")
    return energonlake.mixed(mill, LISTED)


def copy_of(mill: Mill, root: Path) -> Mill:
    return Mill(link(mill.root, root))


def exports(mill: Mill) -> Files:
    """All that the export has, but for notes of runs, and receipts that a refused run has left for gc."""
    found = {path: data for path, data in mill.tree().items() if path.startswith("exports/")}
    return {path: data for path, data in found.items() if not path.endswith(".run.json") and ".receipts/" not in path}


def check_release(mill: Mill, *known: Files) -> None:
    """The release that is named is one of these, and whole."""
    found = read_release(mill.store, energonlake.INDEX)
    if found is None:
        return
    named = [files for files in known if any(path.startswith(found.folder) for path in files)]
    assert named, f"{found.folder} is no release of an undisturbed run"
    there = exports(mill)
    for path, data in named[0].items():
        if path.startswith(found.folder) or path.endswith((".tar", ".jsonl", ".idx")):
            assert there.get(path) == data, f"{path} of the release is not whole"


@pytest.mark.slow
@FORMATS
def test_exports_at_once_are_refused_or_right_and_a_later_run_is_as_if_alone(
    mixed: Mill, tmp_path: Path, declared: ExportFormat
) -> None:
    alone, both = copy_of(mixed, tmp_path / "alone"), copy_of(mixed, tmp_path / "both")
    steps: tuple[Callable[..., object], ...] = (energonlake.export, energonlake.close)
    for step in steps:
        step(alone, declared, LISTED)

        def run(step: Callable[..., object] = step) -> None:
            step(Mill(both.root), declared, LISTED)

        at_once(both.root, run, run)
        step(both, declared, LISTED)  # both may have been refused: each saw an object that the other had replaced
    assert exports(both) == exports(alone)
    assert energonlake.why(both, declared, LISTED) == ()
    assert audit_ledger(both.store, f"{energonlake.INDEX}/ledger.json", print) == []


@FORMATS
@pytest.mark.slow
def test_an_index_may_die_before_each_of_its_changes(mixed: Mill, tmp_path: Path, declared: ExportFormat) -> None:
    """A second release, which excludes a document of the first, or is joined again."""
    mill = copy_of(mixed, tmp_path / "lake")
    energonlake.export(mill, declared, LISTED)
    energonlake.close(mill, declared, LISTED)
    first = exports(mill)
    row = {"source": "pages", "id": mill.ids(mill.documents(), "a")[0], "reason": "asked for"}
    mill.store.put(blocklist_path("takedowns"), json.dumps(row).encode() + b"\n")
    if declared is LINES:
        energonlake.mixed(mill, LISTED)
        energonlake.export(mill, declared, LISTED)
    ready = copy_of(mill, tmp_path / "ready")
    energonlake.close(mill, declared, LISTED)
    second = exports(mill)
    assert second != first

    def again() -> None:
        shutil.rmtree(mill.root)
        link(ready.root, mill.root)

    def close() -> None:
        energonlake.close(Mill(mill.root), declared, LISTED)

    died: list[int] = []
    for number in deaths(mill.root, close, again):
        died.append(number)
        check_release(mill, first, second)
        close()
        assert exports(mill) == second, f"after the death before change {number}"
        assert mill.store.head(f"{energonlake.INDEX}/{WRITING}") is None
    assert len(died) > 15
