"""Sets that older versions made may have clusters with one number: `report` and `verify` say so, and what to do."""

from pathlib import Path

import pytest
from dedupelake import known, put, resolved
from onenumber import numbered_alike
from testkit import Mill

from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.stages.dedupe.resolution import read_resolution
from gristmill.stages.dedupe.resolution_report import resolution_report
from gristmill.stages.near_duplicates.shared_numbers import shared_cluster_numbers_line
from gristmill.verification.indexes import index_findings

TALES = [" ".join(f"{name}{number}" for number in range(40)) for name in "abc"]


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """Round 1 has two clusters of two documents. Round 2 adds a document to the first, and has a cluster of its own."""
    mill = Mill(tmp_path)
    put(mill, "2024-01", "a", TALES[0], TALES[0] + " end", TALES[1], TALES[1] + " end")
    resolved(mill, "near-1")
    put(mill, "2024-02", "b", TALES[0] + " again", TALES[2], TALES[2] + " end")
    resolved(mill, "near-1")
    return mill


def page(mill: Mill) -> str:
    found = read_resolution(mill.store, "near-1")
    assert found is not None
    return resolution_report(mill.store, known().dedupes["near-1"], found)


def told(mill: Mill) -> list[str]:
    said: list[str] = []
    list(index_findings(mill.store, ledger_of_asset("dedupe/near-1/resolution"), (), said.append))
    return [each for each in said if "the number of another" in each]


def test_clusters_with_one_number_are_counted_and_told(mill: Mill) -> None:
    assert shared_cluster_numbers_line(mill.store, "near-1", 2) == ""
    assert told(mill) == []
    assert "the number of another" not in page(mill)
    numbered_alike(mill, "r00001")
    assert shared_cluster_numbers_line(mill.store, "near-1", 1).startswith("2 clusters have the number of another one")
    assert [each.partition(" clusters")[0] for each in told(mill)] == ["dedupe/near-1/resolution: 2"]
    assert "2 clusters have the number of another one" in page(mill)


def test_clusters_of_two_rounds_are_compared(mill: Mill) -> None:
    """Round 2 names the first cluster again, and its own."""
    numbered_alike(mill, "r00002")
    assert shared_cluster_numbers_line(mill.store, "near-1", 1) == ""
    assert shared_cluster_numbers_line(mill.store, "near-1", 2).startswith("2 clusters")


def test_a_recipe_without_clusters_has_none(mill: Mill) -> None:
    resolved(mill, "texts-1")
    assert shared_cluster_numbers_line(mill.store, "texts-1", 1) == ""
