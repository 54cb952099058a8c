from collections.abc import Sequence
from typing import Any

import pytest

from gristmill.errors import RecipeError, StoreError
from gristmill.execution.added_checks import AddedCheck
from gristmill.execution.checks import Verdict
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, DOCUMENTS, TOKENIZER
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store

STORE = open_store("/nowhere")
WHERE = place("sources/pages/v0/documents", "1")


def check(answer: Any, *, blocking: bool = True) -> Verdict:
    """The verdict of a check that gives this answer, or raises it."""

    def answers(store: Store, where: Place, shards: Sequence[Shard]) -> Any:
        assert (store, where, shards) == (STORE, WHERE, ())
        if isinstance(answer, BaseException):
            raise answer
        return answer

    added = AddedCheck(name="odd", kinds=(DOCUMENTS,), claim="", check=answers, blocking=blocking)
    return added(STORE, WHERE, ())


def test_a_verdict_has_the_name_of_the_check_and_blocks_as_declared() -> None:
    for passed in (True, False):
        for blocking in (True, False):
            found = check(Verdict("other", passed=passed, description="said", blocks=not blocking), blocking=blocking)
            assert found == Verdict("odd", passed=passed, description="said", blocks=blocking)


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("answer", [ValueError("no"), SystemExit(0), None, True])
def test_a_check_that_fails_or_gives_no_verdict_refuses_also_if_it_only_warns(answer: Any, *, blocking: bool) -> None:
    found = check(answer, blocking=blocking)
    assert (found.name, found.passed, found.blocks) == ("odd", False, True)


def test_a_lake_that_does_not_answer_is_no_verdict() -> None:
    with pytest.raises(StoreError):
        check(StoreError("away"))


@pytest.mark.parametrize("name", ["Odd", "odd-1", "odd_audit", "volume", "result", ""])
def test_a_name_that_dagster_or_gristmill_has_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="give another name"):
        AddedCheck(name=name, kinds=(DOCUMENTS,), claim="", check=lambda *_: Verdict("", passed=True, description=""))


@pytest.mark.parametrize("kinds", [(), (TOKENIZER,), (DOCUMENTS, CLUSTERS), ("documents",)])
def test_a_kind_whose_commits_do_no_such_checks_is_refused(kinds: Any) -> None:
    with pytest.raises(RecipeError, match="at least one of: documents, "):
        AddedCheck(name="odd", kinds=kinds, claim="", check=lambda *_: Verdict("", passed=True, description=""))
