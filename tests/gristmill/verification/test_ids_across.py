import shutil

import pytest
from steered import collide
from testkit import Mill, make_documents

from gristmill.errors import StoreError
from gristmill.verification.ids_across import check_ids_across_snapshots

V0 = "sources/pages/v0/documents"


def test_ids_that_differ_over_all_snapshots_pass_and_are_counted(mill: Mill) -> None:
    for number, snapshot in enumerate(("2023", "2024")):
        mill.raw("a.jsonl.gz", make_documents(3, start=10 * number), "pages", snapshot)
        mill.convert("pages", snapshot)
    verdict = check_ids_across_snapshots(mill.store, V0, ["2023", "2024", "2025"])
    assert verdict.passed
    assert verdict.metadata["ids compared"] == 6
    assert verdict.metadata["snapshots not finished"] == 1


def test_an_id_in_two_snapshots_is_named_with_both_places(mill: Mill) -> None:
    for snapshot, start in (("2023", 0), ("2024", 2)):
        mill.raw("a.jsonl.gz", make_documents(3, start=start), "pages", snapshot)
        mill.convert("pages", snapshot)
    verdict = check_ids_across_snapshots(mill.store, V0, ["2023", "2024"])
    assert not verdict.passed
    assert f"{V0}/2023/a.jsonl.gz row 2" in verdict.description
    assert f"{V0}/2024/a.jsonl.gz row 0" in verdict.description
    assert verdict.metadata["hashes that repeat"] == 1


def test_ids_of_two_snapshots_that_only_share_half_a_hash_differ(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    collide(monkeypatch)
    for snapshot, start in (("2023", 0), ("2024", 10)):
        mill.raw("a.jsonl.gz", make_documents(3, start=start), "pages", snapshot)
        mill.convert("pages", snapshot)
    verdict = check_ids_across_snapshots(mill.store, V0, ["2023", "2024"])
    assert verdict.passed
    assert verdict.metadata["hashes that repeat"] == 1


def test_a_lake_whose_folder_is_gone_is_no_lake_without_ids(mill: Mill) -> None:
    shutil.rmtree(mill.root)
    with pytest.raises(StoreError, match="there is no lake"):
        check_ids_across_snapshots(mill.store, "sources/pages/v0/documents", ["2024"])
