from dataclasses import replace

import msgspec
import pytest
from testkit import SHELVES, Mill, make_documents

from gristmill.execution.runner import Inline
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.pipeline.estimate import Estimate, Estimator
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.recipes.catalogue import Catalogue, read_catalogue

V0 = "sources/pages/v0/documents"
SETS = [f"sources/pages/v0/attributes/{name}-1" for name in ("characters", "words")]


@pytest.fixture
def catalogue() -> Catalogue:
    """One source, and two sets that are made in one grind."""
    known = read_catalogue(SHELVES)
    sources = {"pages": replace(known.sources["pages"], revisions=())}
    return Catalogue(sources, {name: known.taggers[name] for name in ("characters-1", "words-1")}, {}, {})


def estimated(mill: Mill, catalogue: Catalogue) -> dict[str, Estimate]:
    planner, estimator = Planner(catalogue, SHELVES, mill.lake), Estimator(mill.store, catalogue)
    for task in planner.tasks():
        estimator.add(task, planner.survey(task))  # type: ignore[arg-type]  # they are all steps
    return estimator.estimates


def measured(mill: Mill, asset: str) -> dict[str, float]:
    return read_run_note(mill.store, place(asset, "2024")).about["grind"]  # type: ignore[no-any-return]


def rounded(estimate: Estimate) -> Estimate:
    """An estimate of whole bytes and milliseconds."""
    read, written, new = (round(each) for each in (estimate.read, estimate.written, estimate.new))
    return replace(estimate, read=read, written=written, new=new, cpu=round(estimate.cpu, 3))


def test_the_next_snapshot_is_estimated_by_the_last_one(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(2)
    raw = sum(entry.size for entry in mill.store.list("sources/pages/raw/"))
    before = estimated(mill, catalogue)
    assert before == {
        "documents": Estimate("documents", 1, 1, raw),
        "attributes": Estimate("attributes", 2, 2, unknown=2),
    }
    list(Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append).run())
    assert estimated(mill, catalogue) == {}
    for name in "ab":  # the same bytes once more
        mill.raw(f"{name}.jsonl.gz", mill.store.read(f"sources/pages/raw/2024/{name}.jsonl.gz"), snapshot="2025")
    found = estimated(mill, catalogue)
    totals = read_ledger(mill.store, place(V0, "2024"))[0].totals
    cpu = measured(mill, V0)["cpu seconds"]
    assert rounded(found["documents"]) == Estimate("documents", 1, 0, raw, totals["bytes"], totals["bytes"], cpu)
    size = sum(read_ledger(mill.store, place(each, "2024"))[0].totals["bytes"] for each in SETS)
    both = measured(mill, SETS[0])["cpu seconds"]  # of the one grind that made both
    assert rounded(found["attributes"]) == Estimate("attributes", 2, 0, totals["length"], size, size, both)


def test_a_shard_that_is_replaced_is_no_new_one(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(2)
    list(Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append).run())
    mill.raw("b.jsonl.gz", make_documents(10, start=30))
    found = estimated(mill, catalogue)["documents"]
    assert found.read == len(mill.store.read("sources/pages/raw/2024/b.jsonl.gz"))
    assert 0 < found.written < read_ledger(mill.store, place(V0, "2024"))[0].totals["bytes"]
    assert found.new < found.written / 5


def test_notes_of_an_older_gristmill_measure_nothing(mill: Mill, catalogue: Catalogue) -> None:
    mill.raw_shards(1)
    mill.convert()
    where = place(V0, "2024")
    note = read_run_note(mill.store, where)
    old = msgspec.structs.replace(note, about={"grind": {"cpu seconds": 1.0, "wall seconds": 1.0}})
    mill.store.put(where.run, msgspec.json.encode(old))
    found = estimated(mill, catalogue)
    assert found == {"attributes": Estimate("attributes", 2, 2, read_ledger(mill.store, where)[0].totals["length"])}
