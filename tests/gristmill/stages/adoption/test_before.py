from pathlib import Path

import pytest
from adoptions import adopt, document, write_rows
from testkit import Mill

from gristmill.execution.checks import Verdict
from gristmill.lake.address import documents_asset, place
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.stages.adoption import grinder, step
from gristmill.verification.audit import audit_ledger

V0, V1 = (place(documents_asset("s2", version), "all") for version in ("v0", "v1"))


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    return Mill(tmp_path / "lake")


def found(mill: Mill) -> list[tuple[str, int | None, str]]:
    findings = audit_ledger(mill.store, V1.ledger, print)
    return [(Path(finding.path).name, finding.row, finding.what) for finding in findings]


def test_an_audit_finds_what_the_blocking_checks_did_not(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [document(str(n), metadata={"doi": n}) for n in range(4)]
    changed = [document("1", metadata={"doi": 1}), document("3", metadata={"doi": 4}), document("9")]
    top = tmp_path / "d"
    before = write_rows(top / "v0" / "documents" / "a.jsonl.gz", rows)
    write_rows(top / "v0" / "documents" / "b.jsonl.gz", [document("8")])
    write_rows(top / "v1" / "documents" / "a.jsonl.gz", changed)
    write_rows(top / "v1" / "documents" / "b.jsonl.gz", [document("8")])
    source = Adopted(name="s2", root=str(top), folders=("v0", "v1"))
    monkeypatch.setattr(grinder, "metadata_digest", lambda _: b"")
    monkeypatch.setattr(step, "check_stable_ids", lambda *_: Verdict("ids_stable", passed=True, description="a lie"))
    adopt(mill, source)
    path = f"{top}/v0/documents/a.jsonl.gz"
    assert sorted(found(mill)) == [
        ("a.jsonl.gz", 1, f"id '3' (source 'web') has other metadata in {path}"),
        ("a.jsonl.gz", 2, f"id '9' (source 'web') is not in {path}"),
    ]
    assert audit_ledger(mill.store, V0.ledger, print) == []
    before.write_bytes(before.read_bytes()[:-9])
    assert found(mill) == []  # the version before is damaged: its own audit says so
    assert "put it back as it was, or adopt it again" in str(audit_ledger(mill.store, V0.ledger, print)[0])
    before.unlink()
    assert found(mill) == []


def test_versions_that_need_not_agree_are_not_compared(mill: Mill, tmp_path: Path) -> None:
    for version in ("v0", "v1"):
        write_rows(tmp_path / "d" / version / "documents" / "a.jsonl.gz", [document(version)])
    adopt(mill, Adopted(name="s2", root=str(tmp_path / "d"), folders=("v0", "v1"), same_metadata=False))
    assert found(mill) == []
