"""The check of checksum files: its audit reads raw data again, and sync reports it where it has run."""

import hashlib
from dataclasses import replace

import dagster as dg
import pytest
from dagster_kit import LETTERS_V0, Works, letters

from assets.support.keys import key_of
from gristmill.lake.address import raw_folder
from gristmill.recipes.catalogue import Catalogue, read_catalogue

RAW = raw_folder("letters", "2024")
CHECK = f"{LETTERS_V0}:checksums_match"


def catalogue(checksums: str | None = "SHA256SUMS$") -> Catalogue:
    found = read_catalogue(("dagshelf",))
    sources = {**found.sources, "letters": replace(found.sources["letters"], checksums=checksums)}
    return replace(found, sources=sources)


def write_sums(works: Works) -> None:
    digest = hashlib.sha256(works.store.read(f"{RAW}a.jsonl.gz")).hexdigest()
    works.store.put(f"{RAW}SHA256SUMS", f"{digest}  a.jsonl.gz\n".encode())


@pytest.fixture
def checked(works: Works) -> Works:
    """One snapshot whose object has the hash that its checksum file names."""
    works.load(catalogue())
    works.raw(letters(1, 2, 3))
    write_sums(works)
    works.arrive("letters")
    done = works.run("letters_journey", only=[LETTERS_V0])
    assert done.success, done.failures
    assert done.checks[CHECK].passed
    return works


def audit(works: Works) -> tuple[bool, str]:
    wanted = dg.AssetCheckKey(key_of(LETTERS_V0), "checksums_match_audit")
    job = works.definitions.resolve_implicit_global_asset_job_def()
    chosen = job.get_subset(asset_selection=set(), asset_check_selection={wanted})
    (found,) = chosen.execute_in_process(instance=works.instance).get_asset_check_evaluations()
    return found.passed, found.description or ""


def test_the_audit_reads_raw_objects_again(checked: Works) -> None:
    assert audit(checked) == (True, "every raw object of 2024 has the hashes that the checksum files name")
    checked.raw(letters(1, 2, 4))  # and no run since
    passed, words = audit(checked)
    assert not passed
    assert words.startswith(f"{RAW}: 1 checksums do not match; a.jsonl.gz has sha256 ")


@pytest.mark.slow
def test_sync_reports_the_check_where_it_has_run(checked: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        done = Works(checked.root, fresh, catalogue()).run("sync", None)
        assert done.checks[CHECK].passed
    with dg.DagsterInstance.ephemeral() as fresh:  # the recipe no longer has it
        assert CHECK not in Works(checked.root, fresh, catalogue(None)).run("sync", None).checks


@pytest.mark.slow
def test_sync_does_not_report_a_check_that_is_newer_than_the_ledger(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    with dg.DagsterInstance.ephemeral() as fresh:
        done = Works(works.root, fresh, catalogue()).run("sync", None)
        assert f"{LETTERS_V0}:ids_unique" in done.checks
        assert CHECK not in done.checks


def test_a_changed_checksum_file_alone_arrives(checked: Works) -> None:
    assert checked.arrive("letters") == {"letters": []}
    checked.store.put(f"{RAW}SHA256SUMS", b"")
    assert checked.arrive("letters") == {"letters": ["2024"]}
