"""The list of mutants fits the code, and the runner tells a guard that tests hold from one that none holds."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.mutants import BROKEN, KILLED, SURVIVED, Mutant, read_list, summary

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = read_list(ROOT)
LEAST = 200
RUN = """
import json, sys
from pathlib import Path
from scripts import mutants
root, copy = Path(sys.argv[1]), Path(sys.argv[2])
found = mutants.run(mutants.read_list(root), root, copy, None)
print(json.dumps({mutant.name: result for mutant, result in found.items()}))
"""


def test_the_list_is_long_and_each_name_stands_once() -> None:
    assert len(MUTANTS) >= LEAST
    names = Counter((mutant.file, mutant.name) for mutant in MUTANTS)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_each_mutant_of_a_file_changes_one_place_and_is_python_still(file: str) -> None:
    code = (ROOT / file).read_text()
    unfit: list[str] = []
    for mutant in (mutant for mutant in MUTANTS if mutant.file == file):
        try:
            ast.parse(mutant.applied(code))
        except (ValueError, SyntaxError) as error:
            unfit.append(f"{mutant.name}: {error}")
    assert unfit == [], "the guard has changed: change its mutant too"


def test_each_mutant_names_tests_that_are_there() -> None:
    named = {test.partition("::")[0] for mutant in MUTANTS for test in mutant.tests}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert [mutant.name for mutant in MUTANTS if not mutant.tests] == []


def test_an_old_text_that_is_gone_or_not_alone_is_an_error() -> None:
    mutant = Mutant("m", "a.py", "if x:", "if True:", ())
    with pytest.raises(ValueError, match=r"a\.py: m: the old text occurs 0 times"):
        mutant.applied("if y:")
    with pytest.raises(ValueError, match="occurs 2 times"):
        mutant.applied("if x: if x:")


TABLE = """
[door]
file = "door.py"
tests = ["tests/test_door.py"]

[door.mutants."everyone passes"]
old = 'if name != "me":'
new = 'if False:'

[door.mutants."a guard that no test holds"]
old = "return len(name)"
new = "return 0"

[door.mutants."no test can be collected"]
old = "def enter"
new = "def entrance"
"""
DOOR = 'def enter(name):\n    if name != "me":\n        raise KeyError\n    return len(name)\n'
TEST = "import door, pytest\nenter = door.enter\n\ndef test() -> None:\n    with pytest.raises(KeyError):\n"
TEST += '        enter("you")\n    enter("me")\n'


@pytest.mark.slow
def test_a_run_tells_killed_survived_and_broken_apart_and_leaves_the_checkout_alone(tmp_path: Path) -> None:
    root, copy = tmp_path / "checkout", tmp_path / "copy"
    for name, text in {"door.py": DOOR, "tests/test_door.py": TEST, "tests/mutants/door.toml": TABLE}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["slow", "live"]\n')
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    command = [sys.executable, "-c", RUN, str(root), str(copy)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "everyone passes": KILLED,
        "a guard that no test holds": SURVIVED,
        "no test can be collected": BROKEN,
    }, done.stdout + done.stderr
    assert (root / "door.py").read_text() == DOOR


def test_survivors_need_an_explanation_and_the_killed_none() -> None:
    def mutant(name: str, survives: str = "") -> Mutant:
        return Mutant(name, "a.py", "x", "y", ("t",), survives)

    killed = {mutant(str(number)): KILLED for number in range(19)}
    said, code = summary({**killed, mutant("m", "only the message differs"): SURVIVED})
    assert (said.splitlines()[0], code) == ("19 of 20 killed: 95.0%", 0)
    assert summary({**killed, mutant("m"): SURVIVED})[1] == 1
    assert summary({**killed, mutant("m", "why"): BROKEN})[1] == 1
    assert summary({**killed, mutant("m", "why"): KILLED})[1] == 1
    assert summary({**dict(list(killed.items())[1:]), mutant("m", "why"): SURVIVED})[1] == 1
    assert summary({})[1] == 1
