from dataclasses import replace

import msgspec
import pytest
from dedupelake import known, put, resolved
from testkit import SHELVES, Mill, make_documents

from gristmill.execution.runner import Inline
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.estimate import Estimate, Estimator
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.tasks import ResolutionTask
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.stages.mixing.carrying.step import CarryingStep

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
        prospects = planner.survey_task(task)
        if not isinstance(task, ResolutionTask):
            estimator.add(task, prospects)  # type: ignore[arg-type]  # the others are all steps
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


def test_a_set_that_follows_a_resolution_is_estimated_by_its_fingerprints(mill: Mill) -> None:
    """Ten texts of 5,000 characters in each of two snapshots: a set reads ten fingerprints, and no text."""
    everything = known()
    catalogue = replace(everything, dedupes={"texts-1": everything.dedupes["texts-1"]})
    put(mill, "a", "x", *(f"{number:05}" * 1000 for number in range(10)))
    resolved(mill, catalogue=catalogue)
    mill.raw("x.jsonl.gz", mill.store.read("sources/pages/raw/a/x.jsonl.gz"), snapshot="b")
    found = estimated(mill, catalogue)["attributes"]
    texts, prints, made = (
        read_ledger(mill.store, place(asset, "a"))[0].totals
        for asset in (V0, "dedupe/texts-1/fingerprints/pages", "sources/pages/v0/attributes/texts-1")
    )
    assert texts["length"] > 50_000 > 100 * prints["length"]
    assert (found.partitions, found.unmeasured, round(found.read)) == (2, 0, 2 * prints["length"])
    assert round(found.written) == 2 * made["bytes"]


def test_what_taggers_wrote_measures_no_set_of_a_dedupe_recipe(mill: Mill, catalogue: Catalogue) -> None:
    """Taggers read documents. A set of a dedupe recipe reads fingerprints: no rate of theirs holds for it."""
    mill.raw_shards(1)
    list(Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append).run())
    both = replace(catalogue, dedupes={"texts-1": known().dedupes["texts-1"]})
    found = estimated(mill, both)["attributes"]
    assert (found.partitions, found.unmeasured, found.written) == (1, 1, 0)


def test_a_carried_set_reads_the_documents_of_both_versions(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    step = CarryingStep(mill.source(), "v1", "words-1", "2024", None, SHELVES)
    estimator = Estimator(mill.store, read_catalogue(SHELVES))
    estimator.add(step, [Prospect(step.asset, "2024", "follow")])
    before, after = (read_ledger(mill.store, mill.documents(version))[0].totals["length"] for version in ("v0", "v1"))
    assert estimator.estimates["attributes"].read == before + after
