"""The checks of an installed package, in Dagster: declared, done by the commit, and audited."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import LETTERS_V0, Works, letters
from songs import lay

from assets.support.keys import key_of
from assets.support.step_ops import was_run
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_head
from gristmill.plugins import forget_installed_plugins


@pytest.fixture
def package(tmp_path: Path) -> Iterator[None]:
    """The package with the checks `terse`, which blocks, and `titled`, which warns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(lay(tmp_path / "site"))
        forget_installed_plugins()
        yield
    forget_installed_plugins()


def recorded(works: Works, check: str) -> bool:
    """Whether the ledger of the letters says that a check was done."""
    where = place(LETTERS_V0, "2024")
    head = read_head(works.store, where)
    assert head is not None
    return was_run(works.store, where, head, check)


@pytest.mark.usefixtures("package")
def test_a_commit_does_the_checks_of_a_package_and_an_audit_does_them_again(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = works.definitions.resolve_asset_graph()
    blocking = {key.name: graph.get_check_spec(key).blocking for key in graph.get(key_of(LETTERS_V0)).check_keys}
    assert {name: blocking[name] for name in ("terse", "titled")} == {"terse": True, "titled": False}
    assert {"terse_audit", "titled_audit"} <= blocking.keys()

    works.raw(letters(1, 2))
    works.arrive("letters")
    with monkeypatch.context() as patch:
        patch.setenv("MILLEXTRAS_LINES", "-1")
        done = works.run("letters_journey")
    assert not done.success
    assert read_head(works.store, place(LETTERS_V0, "2024")) is None
    refused = done.checks[f"{LETTERS_V0}:terse"]
    assert (refused.passed, refused.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert refused.description == "the longest text has 0 lines; -1 are allowed"

    done = works.run("letters_journey")
    assert done.success, done.failures
    assert done.checks[f"{LETTERS_V0}:terse"].metadata["lines"].value == 0
    warned = done.checks[f"{LETTERS_V0}:titled"]
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert [recorded(works, name) for name in ("terse", "titled", "ids_unique")] == [True, True, True]

    assert works.audit("letters").checks[f"{LETTERS_V0}:terse_audit"].passed
    monkeypatch.setenv("MILLEXTRAS_LINES", "-1")
    audited = works.audit("letters").checks[f"{LETTERS_V0}:terse_audit"]
    assert not audited.passed
    assert "terse: the longest text has 0 lines" in (audited.description or "")


@pytest.mark.usefixtures("package")
def test_a_ledger_that_was_published_before_a_package_came_does_not_say_that_its_check_was_done(made: Works) -> None:
    assert [recorded(made, name) for name in ("terse", "ids_unique")] == [False, True]
