import json

import msgspec
import pytest
from testkit import Mill, make_documents

from gristmill.errors import DataError, StoreError, Superseded
from gristmill.execution.runner import Inline
from gristmill.execution.step import Planned, fold_one, grind, plan, publish_one


def moved(planned: Planned) -> Planned:
    """A plan as another process gets it."""
    return msgspec.json.decode(msgspec.json.encode(planned), type=Planned)


def test_plan_grind_and_commit_may_be_three_processes(mill: Mill) -> None:
    mill.raw_shards(3)
    planned = moved(plan(mill.conversion(), mill.lake, "run"))
    assert planned.items == 3
    assert planned.weight == sum(entry.size for entry in mill.store.list("sources/pages/raw/"))
    tally = grind(moved(planned), Inline(), mill.said.append)
    assert sorted(tally.ground["sources/pages/v0/documents"]) == ["a", "b", "c"]
    asset = planned.makings[0].place.asset
    ledger = publish_one(moved(planned), asset, fold_one(moved(planned), asset, {"run": "run"}))
    assert ledger.totals["rows"] == 30
    mill.verify(mill.documents())
    about = json.loads(mill.store.read(mill.documents().run))["about"]
    assert about["run"] == "run"
    assert set(about["grind"]) == {"cpu seconds", "wall seconds"}


def test_receipts_alone_are_enough_to_fold(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    where = mill.documents()
    mill.store.delete([e.path for e in mill.store.list(where.receipts) if "/.ground-" in e.path])
    assert fold_one(planned, where.asset, {}).ledger.totals["rows"] == 20


def test_what_was_not_ground_cannot_be_folded(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    with pytest.raises(StoreError, match="shard a has no receipt: run again"):
        fold_one(planned, mill.documents().asset, {})


def test_a_grind_that_is_tried_again_does_only_the_rest(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.raw("b.jsonl.gz", b"torn")
    planned = plan(mill.conversion(), mill.lake, "run")
    assert len(grind(planned, Inline(), mill.said.append).failed) == 1
    again = grind(planned, Inline(), mill.said.append)
    assert (len(again.failed), again.ground) == (1, {})
    assert mill.said[-1].startswith("1 of 1 shards")


def test_nothing_is_visible_before_it_is_published(mill: Mill) -> None:
    mill.raw_shards(2)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    folded = fold_one(planned, mill.documents().asset, {})
    with pytest.raises(DataError, match="is not there yet"):
        mill.table(mill.documents())
    publish_one(planned, mill.documents().asset, folded)
    assert sorted(mill.table(mill.documents())) == ["a", "b"]


def test_a_plan_that_was_published_cannot_be_published_again(mill: Mill) -> None:
    mill.raw_shards(1)
    planned = plan(mill.conversion(), mill.lake, "run")
    grind(planned, Inline(), mill.said.append)
    asset = mill.documents().asset
    folded = fold_one(planned, asset, {})
    publish_one(planned, asset, folded)
    with pytest.raises(Superseded):
        fold_one(planned, asset, {})


def test_one_of_several_sets_is_published_when_the_other_failed(mill: Mill) -> None:
    rows = make_documents(3)
    rows[1]["text"] = "RAISE"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    planned = plan(mill.tagging("words-1", "faulty-1"), mill.lake, "run")
    tally = grind(planned, Inline(), mill.said.append)
    assert [(each.asset, each.error) for each in tally.failed] == [("sources/pages/v0/attributes/faulty-1", "crash")]
    words, faulty = mill.attributes("words-1"), mill.attributes("faulty-1")
    publish_one(planned, words.asset, fold_one(planned, words.asset, {}))
    assert mill.table(words)["a"].rows == 3
    with pytest.raises(DataError, match="LookupError: doc-00001"):
        fold_one(planned, faulty.asset, {})
    assert mill.store.head(faulty.ledger) is None
