"""What `make audit` says to the answers of pip-audit, which a program of the same name gives here."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import audit
from scripts.budget import Span
from scripts.ci import AUDIT, NO_SERVICE, passed

FINE = {"name": "duckdb", "version": "2.0", "vulns": []}
FLAWED = {"name": "numpy", "version": "2.4", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.5"]}]}
UNKNOWN = {"name": "isal", "skip_reason": "Dependency not found on PyPI"}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the program named pip_audit prints."""
    answer = tmp_path / "answer"
    (tmp_path / "pip_audit.py").write_text(f"print(open({str(answer)!r}).read())")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return answer


def told(service: Path, *packages: dict[str, Any]) -> None:
    service.write_text(json.dumps({"dependencies": packages}))


def test_all_packages_are_looked_up_or_it_fails(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(service, FINE)
    assert audit.look_up() == "3 pins looked up, nothing known against them"
    told(service, FINE, UNKNOWN)
    with pytest.raises(SystemExit):
        audit.look_up()
    assert capsys.readouterr().err == "1 pinned packages could not be looked up: isal\n"


def test_an_advisory_is_named(service: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(service, FINE, FLAWED, UNKNOWN)
    with pytest.raises(SystemExit):
        audit.look_up()
    said = capsys.readouterr()
    assert said.out.endswith("numpy 2.4: PYSEC-1, mended in 2.5\n")
    assert said.err.startswith("1 advisories against pinned packages")


def test_where_nobody_answers_it_fails_with_a_word_of_its_own(
    service: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for silent in (json.dumps({"dependencies": [UNKNOWN]}), ""):
        service.write_text(silent)
        with pytest.raises(SystemExit) as ended:
            audit.look_up()
        assert ended.value.code == 1
        assert capsys.readouterr().err.startswith(f"{NO_SERVICE}: none of ")


@pytest.mark.parametrize(
    ("name", "ok", "note", "goes_on"),
    [
        (AUDIT, True, "", True),
        (AUDIT, False, f"{NO_SERVICE}: none of 178 pinned packages was looked up", True),
        (AUDIT, False, "1 advisories against pinned packages", False),
        ("make sample", False, NO_SERVICE, False),
    ],
)
def test_ci_goes_on_without_a_service_and_after_nothing_else(name: str, ok: bool, note: str, goes_on: bool) -> None:  # noqa: FBT001 - a table
    assert passed(Span(name, 0, 1, 1, ok=ok, note=note)) is goes_on
