"""The token cache of conversations, its index and its consolidated copy: killed before their changes, or made by two
at once; the lake is as if nothing had happened.
"""

from pathlib import Path

import kills
import pytest
from chat_step import spelled, work
from mishaps.lakes import Tree, tree_of
from mishaps.process import Process
from one_step import STORE_ERROR
from paths import ROOT
from talklake import row, started, talk
from testkit import SHELVES, SNAPSHOT, Mill, link

from gristmill.stages.mixing.step import stream_step
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake before the cache: forty conversations, of which every eighth has nobody to learn from."""
    root = tmp_path_factory.mktemp("talk") / "before"
    rows = [row(n, talk("Hi", "x" * n) if n % 8 else talk("nobody answers")) for n in range(40)]
    mill = started(root, *rows)
    mill.make(stream_step(spelled(), "pages", SNAPSHOT, SHELVES))
    return root


@pytest.fixture(scope="module")
def undisturbed(before: Path) -> Tree:
    mill = Mill(link(before, before.parent / "undisturbed"))
    work(mill)
    return tree_of(mill)


def process(*arguments: object) -> Process:
    return Process([str(ROOT / "tests" / "support" / "drivers" / "chat_step.py"), *map(str, arguments)])


def check(mill: Mill, expected: Tree) -> None:
    found = tree_of(mill)
    assert sorted(found) == sorted(expected)
    assert [path for path in expected if found[path] != expected[path]] == []
    assert [str(f) for path in ledger_paths_to_audit(mill.store) for f in audit_ledger(mill.store, path, print)] == []
    incoming = mill.root / ".incoming"
    assert not incoming.exists() or not list(incoming.iterdir())


@pytest.mark.parametrize("each", [pytest.param(1, marks=pytest.mark.exhaustive), 6])
def test_killed_before_one_of_its_changes_it_is_made_as_if_undisturbed(
    before: Path, undisturbed: Tree, each: int
) -> None:
    folder = before.parent / f"killed-{each}"
    folder.mkdir()
    process(before, folder, 1 + kills.NUMBER % each, each).finish()
    killed = sorted(folder.iterdir())
    assert len(killed) > 60 / each
    for root in killed:
        mill = Mill(root)
        work(mill)
        check(mill, undisturbed)


def test_two_at_once_leave_one_cache(before: Path, undisturbed: Tree) -> None:
    for number in range(3):
        mill = Mill(link(before, before.parent / f"two-{number}"))
        both = [process(mill.root), process(mill.root)]
        codes = sorted(each.wait() for each in both)
        assert codes in ([0, 0], [0, STORE_ERROR]), [each.words for each in both]
        work(mill)
        check(mill, undisturbed)
