"""Checks of adopted versions and of parts: each has an audit, and sync reports those that have run."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from adoptions import adopt, document, write_rows
from dagster_kit import LETTERS_V0, Works
from testkit import Mill

from assets.support.keys import key_of
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.source import Split

V1 = "sources/s2/v1/documents"


def catalogue(root: Path, *, same: bool = True) -> Catalogue:
    found = read_catalogue(("dagshelf",))
    adopted = Adopted(name="s2", root=str(root), folders=("v0", "v1"), same_metadata=same)
    letters = replace(found.sources["letters"], convert=JsonLines(source="letters"), shards=Split(bytes=1000))
    return replace(found, sources={**found.sources, "s2": adopted, "letters": letters})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two versions side by side."""
    for version in ("v0", "v1"):
        write_rows(tmp_path / "theirs" / version / "documents" / "a.jsonl.gz", [document("1", metadata={"doi": 1})])
    return tmp_path / "theirs"


def test_each_blocking_check_has_an_audit(works: Works, root: Path) -> None:
    works.load(catalogue(root))
    keys = works.definitions.resolve_asset_graph().asset_check_keys
    for address, name in ((V1, "metadata_kept"), (V1, "ids_stable"), (LETTERS_V0, "parts_meet")):
        for check in (name, f"{name}_audit"):
            assert dg.AssetCheckKey(key_of(address), check) in keys


@pytest.mark.slow
def test_sync_reports_what_has_run(works: Works, root: Path) -> None:
    adopt(Mill(works.root), catalogue(root).sources["s2"])
    for same in (True, False):  # a recipe that no longer asks for it has no such check
        with dg.DagsterInstance.ephemeral() as fresh:
            done = Works(works.root, fresh, catalogue(root, same=same)).run("sync", None)
            assert (f"{V1}:metadata_kept" in done.checks, f"{V1}:ids_stable" in done.checks) == (same, same)
            assert f"{V1}:ids_unique" in done.checks


def test_sync_reports_no_check_that_is_newer_than_the_ledger(works: Works, root: Path) -> None:
    adopt(Mill(works.root), catalogue(root, same=False).sources["s2"])
    with dg.DagsterInstance.ephemeral() as fresh:
        checks = Works(works.root, fresh, catalogue(root)).run("sync", None).checks
    assert f"{V1}:ids_unique" in checks
    assert checks.keys().isdisjoint({f"{V1}:metadata_kept", f"{V1}:ids_stable"})
