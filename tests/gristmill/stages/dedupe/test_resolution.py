"""Resolutions of a small lake: which copy stays, what a new snapshot and a changed shard cost, what is refused."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from dedupelake import SHELVES, known, labels, put, resolved
from steered import before
from testkit import Mill

from gristmill.errors import Conflict, DataError, RecipeError
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.asset_kinds import CLUSTERS, RESOLUTION, ledger_of_asset
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.largest_clusters import LargestCluster
from gristmill.stages.dedupe.resolution import (
    compose_resolution,
    order_with_new_snapshots,
    read_dedupe_order,
    read_resolution,
    resolution_path,
    unresolved_reasons,
)
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, file_of_part, seal_row
from gristmill.stages.fingerprints.order import Order, Ranked, dedupe_order_path
from gristmill.verification.audit import audit_ledger

TEXTS, NEAR, ONE = "texts-1", "near-1", [[0, 3, 1]]
SET = attributes_asset("pages", "v0", TEXTS)


@pytest.fixture
def pages(mill: Mill) -> Mill:
    """Two snapshots: `b` repeats a text of `a` and one of its own, and `a` repeats one."""
    put(mill, "a", "x", "one", "two")
    put(mill, "a", "y", "two", "red")
    put(mill, "b", "x", "two", "six", "six")
    return mill


def test_the_first_by_snapshot_shard_and_row_stays(pages: Mill) -> None:
    resolved(pages, TEXTS)
    assert labels(pages, TEXTS, "a") == {"x0": {}, "x1": {}, "y0": {"duplicate": ONE}, "y1": {}}
    assert labels(pages, TEXTS, "b") == {"x0": {"duplicate": ONE}, "x1": {}, "x2": {"duplicate": ONE}}
    assert resolved(pages, TEXTS) == []
    found = read_resolution(pages.store, TEXTS)
    assert found is not None
    assert [each.counts for each in found.snapshots] == [
        {"documents": 4, "compared": 4, "duplicates": 1},
        {"documents": 3, "compared": 3, "duplicates": 2},
    ]
    assert found.matrix == ((0, 0, 4), (1, 0, 1), (1, 1, 2))
    assert found.occurrences == (2, 2)  # one, red occur once; two three times, six twice
    assert found.largest == (LargestCluster(3, "pages", "a", "x", 1), LargestCluster(2, "pages", "b", "x", 1))


@pytest.mark.parametrize("ended", [True, False])
def test_a_resolution_that_another_run_writes_meanwhile_is_read_again(pages: Mill, *, ended: bool) -> None:
    """The other run writes the file, then its ledger: both or the first, right before the file is read."""
    path, closed = resolution_path(TEXTS), ledger_of_asset(RESOLUTION.at(dedupe=TEXTS))
    resolved(pages, TEXTS)
    old = [pages.store.read(each) for each in (path, closed)]
    put(pages, "b", "x", "two", "six", "one")
    resolved(pages, TEXTS)
    new, found = [pages.store.read(each) for each in (path, closed)], read_resolution(pages.store, TEXTS)
    for each, data in zip((path, closed), old, strict=True):
        pages.store.put(each, data)

    def write_file() -> None:
        pages.store.put(path, new[0])
        if ended:
            pages.store.put(closed, new[1])
        else:
            before(pages.store, "read_tagged", closed, lambda: pages.store.put(closed, new[1]))

    before(pages.store, "read_tagged", path, write_file)
    assert old[0] != new[0]
    assert read_resolution(pages.store, TEXTS) == found


def test_a_later_snapshot_changes_no_label_of_an_earlier_one_though_its_key_comes_first(pages: Mill) -> None:
    resolved(pages, TEXTS)
    before = pages.store.read(place(SET, "a").ledger)
    put(pages, "0", "x", "red", "one")
    made = resolved(pages, TEXTS)
    assert (SET, "0") in made
    assert (SET, "a") not in made
    assert pages.store.read(place(SET, "a").ledger) == before
    assert labels(pages, TEXTS, "0") == {"x0": {"duplicate": ONE}, "x1": {"duplicate": ONE}}
    order, _ = read_dedupe_order(pages.store, TEXTS)
    assert [(each.snapshot, each.round) for each in order.entries] == [("a", 1), ("b", 1), ("0", 2)]


@pytest.mark.slow
def test_a_changed_shard_rewrites_only_the_shards_whose_labels_changed(pages: Mill) -> None:
    resolved(pages, TEXTS)
    kept = place(SET, "a").shard("x")
    etag = pages.store.head(kept)
    put(pages, "a", "y", "two", "six")
    resolved(pages, TEXTS)
    assert labels(pages, TEXTS, "b") == {name: {"duplicate": ONE} for name in ("x0", "x1", "x2")}
    assert labels(pages, TEXTS, "a")["y1"] == {}
    assert pages.store.head(kept) == etag


def test_a_resolution_says_which_snapshots_it_leaves_out(pages: Mill) -> None:
    """They come after the others when they are made, whatever their keys are."""
    pages.raw("x.jsonl.gz", [{"id": "x0", "source": "pages"}], snapshot="0")
    with pytest.raises(DataError, match="no text"):
        resolved(pages, TEXTS)
    assert any(
        "never resolved" in line and f"without dedupe/{TEXTS}/fingerprints/pages (0)" in line for line in pages.said
    )
    order, _ = read_dedupe_order(pages.store, TEXTS)
    assert [each.snapshot for each in order.entries] == ["a", "b"]


def test_paragraphs_and_n_grams_are_spans(mill: Mill) -> None:
    put(mill, "a", "x", "the cat sat\nthe dog ran", "the cat sat\n\nthe cat sat down")
    resolved(mill, "lines-1", "grams-1")
    assert labels(mill, "lines-1", "a") == {"x0": {"duplicate": []}, "x1": {"duplicate": [[0, 11, 1]]}}
    # of `the cat`, `cat sat`, `sat down` two occurred before; all of the first paragraph did
    assert labels(mill, "grams-1", "a")["x1"] == {"duplicate": [[0, 11, 1.0], [13, 29, 0.66667]]}


def test_near_documents_are_a_cluster_and_the_first_of_them_is_kept(mill: Mill) -> None:
    tale = " ".join(f"word{number}" for number in range(200))
    put(mill, "a", "x", tale, "something else that nobody wrote before or after it")
    put(mill, "b", "x", tale.replace("word7 ", "corn "), "")
    resolved(mill, "near-1")
    kept, other = labels(mill, "near-1", "a")["x0"], labels(mill, "near-1", "a")["x1"]
    near, empty = labels(mill, "near-1", "b")["x0"], labels(mill, "near-1", "b")["x1"]
    assert (other, empty) == ({}, {})
    assert set(kept) == {"cluster", "similarity", "size"}
    assert set(near) == {"cluster", "duplicate", "similarity", "size"}
    assert kept["cluster"][0][2] == near["cluster"][0][2] < 2**52
    assert [each["size"] for each in (kept, near)] == [[[0, len(tale), 2]], [[0, len(tale) - 1, 2]]]
    assert near["similarity"][0][2] > 0.9


def test_the_largest_clusters_of_near_duplicates_name_the_documents_that_are_kept(mill: Mill) -> None:
    words = [f"{place}{number}" for place in "abc" for number in range(40)]
    put(mill, "a", "x", "", " ".join(words[:40]), " ".join(words[40:80]), " ".join(words[40:80]))
    resolved(mill, "near-1")
    put(mill, "b", "x", *[" ".join([*words[:40], "end"])] * 3)
    resolved(mill, "near-1")
    found = read_resolution(mill.store, "near-1")
    assert found is not None
    # the empty document is not counted; the first cluster began in the second round
    assert found.largest == (LargestCluster(4, "pages", "a", "x", 0), LargestCluster(2, "pages", "a", "x", 1))


def test_clusters_that_an_older_version_gave_one_number_are_told_apart(mill: Mill) -> None:
    """Three near documents begin with `x0`, two others with `x0` of the other snapshot."""
    words = [f"{place}{number}" for place in "ab" for number in range(40)]
    put(mill, "a", "x", *[" ".join(words[:40])] * 3)
    put(mill, "b", "x", *[" ".join(words[40:])] * 2)
    resolved(mill, "near-1")
    there = place(CLUSTERS.at(dedupe="near-1"), "r00001")
    head, (row,) = read_ledger(mill.store, there)
    record = BinaryPartRecord.decode_from_row(row, there.table)
    record.facts["largest"] = [["000000000000a", *largest[1:]] for largest in record.facts["largest"]]
    rows = [seal_row(row, record)]
    mill.store.put(there.table, pack_table(rows))
    mill.store.put(there.ledger, as_json(compose_ledger(there, head.recipe, head.inputs, rows)))
    found, _ = compose_resolution(mill.store, "near-1", read_dedupe_order(mill.store, "near-1")[0])
    assert found.largest == (LargestCluster(3, "pages", "a", "x", 0), LargestCluster(2, "pages", "b", "x", 0))


def test_a_set_waits_for_the_resolution_of_its_documents(pages: Mill) -> None:
    resolved(pages, TEXTS)
    put(pages, "a", "y", "new")
    resolved(pages, "sources/pages/v0/documents")
    step = DedupeLabelsStep(known().dedupes[TEXTS], "pages", "a", ("gristmill", "dedupeshelf"))
    with pytest.raises(DataError, match="has not compared these documents yet"):
        step.plan(pages.store)


def test_two_resolutions_cannot_both_write_the_order(pages: Mill) -> None:
    resolved(pages, "dedupe/texts-1/fingerprints")
    recipe = known().dedupes[TEXTS]
    assert [(each.snapshot, each.round) for each in order_with_new_snapshots(pages.store, recipe, ()).entries] == [
        ("a", 1),
        ("b", 1),
    ]
    with pytest.raises(Conflict):
        pages.store.put_if(dedupe_order_path(TEXTS), b"{}", None)


def test_the_audit_proves_a_resolution_and_finds_a_forged_one(pages: Mill) -> None:
    resolved(pages, TEXTS)
    ledger = ledger_of_asset(RESOLUTION.at(dedupe=TEXTS))
    assert audit_ledger(pages.store, ledger, pages.said.append) == []
    path = resolution_path(TEXTS)
    pages.store.put(path, pages.store.read(path).replace(b'"duplicates":2', b'"duplicates":1'))
    assert [finding.path for finding in audit_ledger(pages.store, ledger, pages.said.append)] == [path]
    assert unresolved_reasons(pages.store, known().dedupes[TEXTS], ()) != ()
    resolved(pages, TEXTS)
    assert audit_ledger(pages.store, ledger, pages.said.append) == []


def _audited(mill: Mill) -> list[str]:
    ledger = ledger_of_asset(RESOLUTION.at(dedupe=TEXTS))
    return [finding.path for finding in audit_ledger(mill.store, ledger, mill.said.append)]


@pytest.mark.slow
def test_a_lost_order_is_restored_from_the_last_resolution(pages: Mill) -> None:
    """Ranked anew, `0` would come before `a`, and their labels would change."""
    resolved(pages, TEXTS)
    put(pages, "0", "x", "red", "one")
    resolved(pages, TEXTS)
    before = pages.store.read(dedupe_order_path(TEXTS))
    pages.store.delete([dedupe_order_path(TEXTS)])
    assert _audited(pages) == [dedupe_order_path(TEXTS)]
    assert "restored" in unresolved_reasons(pages.store, known().dedupes[TEXTS], ())[0]
    assert resolved(pages, TEXTS) == []
    assert pages.store.read(dedupe_order_path(TEXTS)) == before
    assert _audited(pages) == []


def test_no_order_is_begun_anew_if_the_result_of_the_last_resolution_is_lost_too(pages: Mill) -> None:
    resolved(pages, TEXTS)
    pages.store.delete([dedupe_order_path(TEXTS), resolution_path(TEXTS)])
    with pytest.raises(DataError, match="lost"):
        order_with_new_snapshots(pages.store, known().dedupes[TEXTS], ())


@pytest.mark.parametrize(
    ("sources", "editions", "words"),
    [
        (("books/v0",), (), "compared snapshots of 'pages', which its `sources` name no longer"),
        (("pages/v0",), ("pages",), "a source with snapshots='accumulate', which has changed"),
    ],
)
def test_recipes_of_sources_that_are_not_those_of_the_order_are_refused(
    pages: Mill, sources: tuple[str, ...], editions: tuple[str, ...], words: str
) -> None:
    resolved(pages, TEXTS)
    recipe = replace(known().dedupes[TEXTS], sources=sources)
    for ask in (unresolved_reasons, order_with_new_snapshots):
        with pytest.raises(RecipeError, match="take the next number") as refused:
            ask(pages.store, recipe, editions)
        assert words in str(refused.value)


def test_a_refused_order_is_planned_as_refused_while_its_fingerprints_are_due(pages: Mill) -> None:
    """The snapshot `c` has no fingerprints yet, so that the resolution follows these: but no run may make it."""
    resolved(pages, TEXTS)
    put(pages, "c", "x", "new")

    def state(catalogue: Catalogue) -> str:
        planner = Planner(catalogue, SHELVES, pages.lake, read_targets(catalogue, (TEXTS,)))
        [found] = [each for each in planner.survey_all() if each.asset == RESOLUTION.at(dedupe=TEXTS)]
        return found.state

    assert (state(known()), state(known("replace"))) == ("follow", "refused")


EDITS: dict[str, Callable[[Order], tuple[Ranked, ...]]] = {
    "reordered": lambda order: order.entries[::-1],
    "first removed": lambda order: order.entries[1:],
    "last removed": lambda order: order.entries[:-1],
    "emptied": lambda _: (),
    "called editions": lambda order: tuple(msgspec.structs.replace(each, edition=True) for each in order.entries),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_order_that_was_edited_is_refused_and_found(
    pages: Mill, edit: Callable[[Order], tuple[Ranked, ...]]
) -> None:
    resolved(pages, TEXTS)
    order, _ = read_dedupe_order(pages.store, TEXTS)
    pages.store.put(dedupe_order_path(TEXTS), as_json(Order(edit(order))))
    with pytest.raises(DataError, match="not those of the last resolution"):
        unresolved_reasons(pages.store, known().dedupes[TEXTS], ())
    assert _audited(pages) == [dedupe_order_path(TEXTS)]


@pytest.mark.parametrize("damaged", [b"", b"{"])
def test_a_damaged_result_is_made_again(pages: Mill, damaged: bytes) -> None:
    resolved(pages, TEXTS)
    before = pages.store.read(resolution_path(TEXTS))
    pages.store.put(resolution_path(TEXTS), damaged)
    assert resolved(pages, TEXTS) == []
    assert pages.store.read(resolution_path(TEXTS)) == before


@pytest.mark.slow
def test_clusters_whose_index_is_lost_are_made_again(pages: Mill) -> None:
    resolved(pages, NEAR)
    partition = place(CLUSTERS.at(dedupe=NEAR), "r00001")
    part = read_ledger(pages.store, partition)[1][0]
    path, _ = file_of_part(part, partition.table, "0.index")
    before = pages.store.read(path)
    pages.store.delete([path])
    assert "clusters" in unresolved_reasons(pages.store, known().dedupes[NEAR], ())[0]
    resolved(pages, NEAR)
    assert pages.store.read(path) == before


def test_a_resolution_that_finds_nothing_warns(mill: Mill) -> None:
    put(mill, "a", "x", "one", "two")
    resolved(mill, TEXTS)
    words = "nothing was found in 2 documents of all snapshots; look whether the recipe compares what you mean"
    assert [line for line in mill.said if line.startswith("warning")] == [
        f"warning: dedupe/texts-1/resolution: {words}: the sources, the unit and the sets"
    ]
    mill.said.clear()
    put(mill, "b", "x", "two")
    resolved(mill, TEXTS)
    assert not [line for line in mill.said if line.startswith("warning")]
