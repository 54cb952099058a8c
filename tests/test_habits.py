"""What a public project has: the first change of CONTRIBUTING works, and CI's files name what exists."""

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml  # type: ignore[import-untyped]

from gristmill.installation import VERSION

ROOT = Path(__file__).resolve().parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", CONTRIBUTING, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_tagger_and_the_test_of_the_first_change_work(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = ModuleType("gristmill.taggers.measures.ascii")
    exec(compile(block("python"), "CONTRIBUTING.md, the tagger", "exec"), vars(tagger))
    monkeypatch.setitem(sys.modules, tagger.__name__, tagger)
    names: dict[str, object] = {}
    exec(compile(block("py"), "CONTRIBUTING.md, the test", "exec"), names)
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    assert callable(test)
    test()
    (label,) = tagger.ASCII.labels
    assert f"## {tagger.ASCII.name}\n" in block("markdown")
    assert f"| `{label.name}` | score |  | 0 to 1 | {label.meaning}; may be missing |\n" in block("markdown")


def test_the_files_that_the_first_change_writes_are_not_there_yet() -> None:
    paths = re.findall(r"^# (\S+\.py)$", CONTRIBUTING, re.MULTILINE)
    assert len(paths) == 2
    assert [path for path in paths if (ROOT / path).exists() or not (ROOT / path).parent.is_dir()] == []


def commands() -> list[str]:
    return [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]


def test_each_command_of_the_workflow_is_one_of_ours() -> None:
    assert commands() == [".ci/run", "make test-fast"]
    for command in commands():
        program, *words = command.split()
        assert (ROOT / program).is_file() if program != "make" else set(words) <= TARGETS


def test_the_workflow_tries_the_pythons_that_the_package_takes() -> None:
    fast = WORKFLOW["jobs"]["fast"]["strategy"]["matrix"]["python"]
    (setup,) = (step["with"] for step in WORKFLOW["jobs"]["all"]["steps"] if "with" in step)
    pythons = setup["python-version"].split()
    assert pythons[-1] == PROJECT["project"]["requires-python"].removeprefix(">=") == "3.11"
    assert fast == ["3.12", "3.13"]


def test_nothing_for_a_public_host_names_a_host_or_a_path_of_a_machine() -> None:
    files = [ROOT / ".pre-commit-config.yaml", *(ROOT / ".github").rglob("*.yml")]
    assert len(files) == 5
    for file in files:
        assert re.findall(r"https?://\S+|(?<![\w.])/(?:home|root|work|srv|tmp|opt)\b\S*", file.read_text()) == []


def test_hooks_are_checks_of_make_lint() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"] for hook in local["hooks"]]
    assert entries == [".venv/bin/ruff check --force-exclude", ".venv/bin/ruff format --force-exclude"]


def test_forms_ask_for_what_a_mend_needs() -> None:
    fields = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "defect.yml").read_text())["body"]
    needed = {field["id"] for field in fields if field.get("validations", {}).get("required")}
    assert needed == {"version", "command", "said", "expected", "lake", "runs"}


def test_the_floor_of_coverage_stands_in_the_project_and_in_the_manual() -> None:
    floor = PROJECT["tool"]["coverage"]["report"]["fail_under"]
    page = (ROOT / "docs" / "internals" / "testing.md").read_text()
    assert f"The floor is {floor}%" in page.partition("## Coverage\n")[2].partition("\n## ")[0]


def test_what_users_must_know_has_at_most_80_lines_and_the_readme_150() -> None:
    know = (ROOT / "CHANGELOG.md").read_text().partition("### What users must know\n")[2].partition("\n## ")[0]
    assert 40 < len(know.splitlines()) <= 80
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 150
    assert f"\nVersion {VERSION}: " in readme
