"""`lake.json`: lost, empty, or not needed."""

import msgspec
import pytest
from releasekit import write_whole
from testkit import Mill
from wholelake import WORDS

from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.lake_id import LAKE_FILE, make_lake_id
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.releases.withdrawal import withdraw_release
from gristmill.verification.lake_file import lake_file_findings, release_findings


def run_by_dagster(mill: Mill) -> None:
    """The note that a run of Dagster's leaves."""
    note = read_run_note(mill.store, WORDS)
    note.about["run"] = "1a2b3c"
    mill.store.put(WORDS.run, as_json(note))


def test_a_lake_that_only_plain_python_wrote_needs_no_id(whole: Mill) -> None:
    assert list(lake_file_findings(whole.store)) == []


def test_an_id_that_dagster_gave_and_that_is_lost_is_a_finding(whole: Mill) -> None:
    run_by_dagster(whole)
    (finding,) = lake_file_findings(whole.store)
    assert str(finding).startswith(
        f"lake.json: there is no such object, but Dagster's run 1a2b3c made {WORDS.asset} (2024) here (restore it"
    )
    make_lake_id(whole.store)
    assert list(lake_file_findings(whole.store)) == []


@pytest.mark.parametrize("data", [b"", b"{}", b'{"id":"short","schema":1}', b"\xff"])
def test_a_file_without_an_id_is_a_finding(whole: Mill, data: bytes) -> None:
    whole.store.put(LAKE_FILE, data)
    (finding,) = lake_file_findings(whole.store)
    assert finding.what == "it does not contain a lake's id"


def test_a_torn_release_is_a_finding(whole: Mill) -> None:
    whole.store.put("releases/one.json", b'{"ledgers":[]}')
    assert list(release_findings(whole.store, whole.said.append)) == []
    whole.store.put("releases/two.json", b'{"ledgers":')
    whole.store.put("releases/three.json", b"[]")
    assert [finding.path for finding in release_findings(whole.store, whole.said.append)] == [
        "releases/three.json",
        "releases/two.json",
    ]


def test_files_of_a_release_without_the_release_are_a_finding(whole: Mill) -> None:
    write_whole(whole, "first")
    path = "releases/first.json"
    data = whole.store.read(path)
    assert list(release_findings(whole.store, whole.said.append)) == []
    whole.store.put(path, msgspec.json.encode({k: v for k, v in msgspec.json.decode(data).items() if k != "schema"}))
    (finding,) = release_findings(whole.store, whole.said.append)
    assert (finding.path, "schema" in finding.what) == (path, True)
    whole.store.delete([path])
    (finding,) = release_findings(whole.store, whole.said.append)
    assert str(finding).startswith(f"{path}: no such object, so nothing proves the files in releases/first/ (restore")
    whole.store.put(path, data)
    assert list(release_findings(whole.store, whole.said.append)) == []


def test_a_withdrawn_release_that_was_put_back_is_one_finding_whatever_became_of_its_objects(whole: Mill) -> None:
    release = write_whole(whole, "first")
    files = {entry.path: whole.store.read(entry.path) for entry in whole.store.list("releases/")}
    withdraw_release(whole.store, "first")
    assert list(release_findings(whole.store, whole.said.append)) == []
    for path, data in files.items():
        whole.store.put(path, data)
    whole.store.delete([next(iter(release.objects))])
    for left in ("the release and its folder", "its folder alone"):
        (finding,) = release_findings(whole.store, whole.said.append)
        assert (finding.path, finding.what[:16]) == ("releases/first.json", "it was withdrawn"), left
        assert finding.mend == f"run `gristmill erase {whole.store.url} --release first`, then `gristmill gc`"
        whole.store.delete(["releases/first.json"])
