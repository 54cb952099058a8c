from dagster_kit import LETTERS_V0, Works, letters

from assets.support.arrivals import forget, is_vanished, report, reported
from gristmill.lake.address import place
from gristmill.raw_data.scan import EMPTY, Seen, present, scan_raw


def seen(works: Works) -> dict[str, Seen]:
    source = works.catalogue.sources["letters"]
    return present(source, scan_raw(source, works.store))


def test_what_is_recorded_already_is_not_reported_again(works: Works) -> None:
    works.raw(letters(1), snapshot="2024")
    works.raw(letters(2), snapshot="2025")
    source = works.catalogue.sources["letters"]
    assert report(works.instance, source, seen(works)) == ["2024", "2025"]
    assert report(works.instance, source, seen(works)) == []
    works.raw(letters(3), "b", snapshot="2025")
    assert report(works.instance, source, seen(works)) == ["2025"]
    assert reported(works.instance, "letters") == {key: each.version for key, each in seen(works).items()}


def test_when_it_gets_late_one_is_reported_and_the_others_stay_due(works: Works) -> None:
    for snapshot in ("2023", "2024", "2025"):
        works.raw(letters(1), snapshot=snapshot)
    due = seen(works)
    assert report(works.instance, works.catalogue.sources["letters"], due, lambda: True) == ["2023"]
    assert sorted(due) == ["2024", "2025"]


def test_a_vanished_snapshot_is_forgotten_when_nothing_made_of_it_is_left(works: Works) -> None:
    source = works.catalogue.sources["letters"]
    works.raw(letters(1), snapshot="2024")
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    report(works.instance, source, {"2024": Seen()})
    assert is_vanished(works.instance, "letters", "2024")
    assert reported(works.instance, "letters") == {"2024": EMPTY}
    known = reported(works.instance, "letters")
    assert forget(works.instance, source, works.store, [LETTERS_V0], known) == []
    works.store.delete([entry.path for entry in works.store.list("sources/letters/raw/")])
    assert works.run("letters_journey", only=[LETTERS_V0]).success
    claim = place(LETTERS_V0, "2024").claim
    works.store.put(claim, b"{}")
    assert forget(works.instance, source, works.store, [LETTERS_V0], known) == []
    works.store.delete([claim])
    assert forget(works.instance, source, works.store, [LETTERS_V0], known) == ["2024"]
    assert works.instance.get_dynamic_partitions("snapshots/letters") == []


def test_a_snapshot_that_was_never_reported_as_vanished_is_not_forgotten(works: Works) -> None:
    works.raw(letters(1), snapshot="2024")
    works.arrive("letters")
    source, known = works.catalogue.sources["letters"], reported(works.instance, "letters")
    assert known["2024"] != EMPTY
    assert forget(works.instance, source, works.store, [LETTERS_V0], known) == []
    assert works.instance.get_dynamic_partitions("snapshots/letters") == ["2024"]
