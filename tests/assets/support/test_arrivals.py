import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test
from dagster_kit import LETTERS_V0, Works, letters

from assets.support.arrivals import forget_vanished, is_vanished, report, reported_versions
from assets.support.keys import key_of
from gristmill.lake.address import place, raw_asset
from gristmill.raw_data.changes import RawChanges, find_changes
from gristmill.raw_data.scan import EMPTY, Seen, present_snapshots, scan_raw


def seen(works: Works) -> dict[str, Seen]:
    source = works.catalogue.sources["letters"]
    return present_snapshots(source, scan_raw(source, works.store))


def test_what_is_recorded_already_is_not_reported_again(works: Works) -> None:
    works.raw(letters(1), snapshot="2024")
    works.raw(letters(2), snapshot="2025")
    source = works.catalogue.sources["letters"]
    assert list(report(works.instance, source, seen(works))) == ["2024", "2025"]
    assert report(works.instance, source, seen(works)) == {}
    works.raw(letters(3), "b", snapshot="2025")
    assert list(report(works.instance, source, seen(works))) == ["2025"]
    assert reported_versions(works.instance, "letters") == {key: each.version for key, each in seen(works).items()}


def test_when_it_gets_late_one_is_reported_and_the_others_stay_due(works: Works) -> None:
    for snapshot in ("2023", "2024", "2025"):
        works.raw(letters(1), snapshot=snapshot)
    due = seen(works)
    assert list(report(works.instance, works.catalogue.sources["letters"], due, lambda: True)) == ["2023"]
    assert sorted(due) == ["2024", "2025"]


@pytest.mark.slow
def test_a_vanished_snapshot_is_forgotten_when_nothing_made_of_it_is_left(works: Works) -> None:
    source = works.catalogue.sources["letters"]
    works.raw(letters(1), snapshot="2024")
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    report(works.instance, source, {"2024": Seen()})
    assert is_vanished(works.instance, "letters", "2024")
    assert reported_versions(works.instance, "letters") == {"2024": EMPTY}
    known = reported_versions(works.instance, "letters")
    assert forget_vanished(works.instance, source, works.store, [LETTERS_V0], known) == []
    works.store.delete([entry.path for entry in works.store.list("sources/letters/raw/")])
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    claim = place(LETTERS_V0, "2024").claim_path
    works.store.put(claim, b"{}")
    assert forget_vanished(works.instance, source, works.store, [LETTERS_V0], known) == []
    works.store.delete([claim])
    run = create_run_for_test(works.instance, status=dg.DagsterRunStatus.STARTED, tags={"dagster/partition": "2024"})
    assert forget_vanished(works.instance, source, works.store, [LETTERS_V0], known) == [], (
        "the run would fail without the key"
    )
    works.instance.report_run_canceled(run)
    assert forget_vanished(works.instance, source, works.store, [LETTERS_V0], known) == ["2024"]
    assert works.instance.get_dynamic_partitions("snapshots/letters") == []


def test_a_snapshot_that_was_never_reported_as_vanished_is_not_forgotten(works: Works) -> None:
    works.raw(letters(1), snapshot="2024")
    works.arrive("letters")
    source, known = works.catalogue.sources["letters"], reported_versions(works.instance, "letters")
    assert known["2024"] != EMPTY
    assert forget_vanished(works.instance, source, works.store, [LETTERS_V0], known) == []
    assert works.instance.get_dynamic_partitions("snapshots/letters") == ["2024"]


def test_a_report_says_what_has_happened_to_the_snapshot(works: Works) -> None:
    works.know("2024")
    source = works.catalogue.sources["letters"]
    given: list[tuple[Seen, RawChanges | None]] = [
        (Seen(objects=2, bytes=1500, digest=1), None),
        (Seen(objects=1, bytes=12, digest=2), RawChanges(["b"], [], ["c", "d"])),
        (Seen(objects=3, bytes=40, digest=3), None),
        (Seen(objects=3, bytes=40, digest=4), RawChanges()),
        (Seen(), RawChanges([], [], ["b"])),
        (Seen(objects=1, bytes=12, digest=2), RawChanges(["b"], [], [])),
        (Seen(objects=1, bytes=12, digest=5), RawChanges(again=["b"])),
        (Seen(objects=2, bytes=12, digest=6), RawChanges(["c"], again=["b"])),
    ]
    found = report(works.instance, source, {"2023": given[0][0]}, compare=lambda *_: RawChanges())
    assert found["2023"].startswith("found: 2 files, 1.5 kB; documents were made of it")
    told = []
    for each, changes in given:
        answers = iter([changes])
        told.append(report(works.instance, source, {"2024": each}, compare=lambda *_: next(answers))["2024"])  # noqa: B023 - called at once
    assert told == [
        "new: 2 files, 1.5 kB",
        "changed: 1 file new, 2 gone; 1 file, 12 bytes now",
        "changed: 3 files, 40 bytes now",
        "changed: 3 files, 40 bytes now",
        "vanished: 1 file gone",
        "new: 1 file, 12 bytes",
        "touched: 1 file to look at (other stamp, same size); 1 file, 12 bytes now",
        "changed: 1 file new, 1 to look at (other stamp, same size); 2 files, 12 bytes now",
    ]


def test_a_report_names_the_files_that_differ_from_those_the_documents_were_made_from(made: Works) -> None:
    source = made.catalogue.sources["letters"]
    made.raw(letters(4), "b")
    made.raw(letters(1, 2, 3, 4))

    def compare(snapshot: str, found: Seen) -> RawChanges | None:
        return find_changes(source, made.store, made.store, snapshot, found)

    told = report(made.instance, source, seen(made), compare=compare)
    assert told["2024"].startswith("changed: 1 file new, 1 changed; 2 files, ")
    record = made.instance.get_latest_materialization_event(key_of(raw_asset("letters")))
    assert record is not None
    assert record.asset_materialization is not None
    assert record.asset_materialization.description == told["2024"]
    rows = record.asset_materialization.metadata["changed files"].value.records  # type: ignore[union-attr]  # a table
    assert [dict(row.data) for row in rows] == [
        {"file": "a.jsonl.gz", "change": "changed"},
        {"file": "b.jsonl.gz", "change": "new"},
    ]
