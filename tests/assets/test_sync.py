"""sync: a fresh database learns what the lake holds."""

import dagster as dg
from dagster_kit import BLEND_LETTERS, JOURNEY, TINY, TINY_LETTERS, Works, letters


def test_a_fresh_instance_learns_partitions_and_versions_and_then_nothing_more(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.whole()
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh)
        assert other.materialized(BLEND_LETTERS) == set()
        done = other.run("sync", None)
        assert done.success
        assert done.said == ["10 materializations reported, 1 raw snapshots"]
        assert fresh.get_dynamic_partitions("snapshots/letters") == ["2024"]
        for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
            assert other.materialized(address) == {"2024"}
            assert other.version(address) == works.version(address) == works.fingerprint(address)
        assert other.version(TINY, None) == works.version(TINY, None)
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


def test_an_instance_that_made_it_all_is_told_nothing(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.whole()
    assert works.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


def test_only_what_changed_is_reported(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.whole()
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh)
        other.run("sync", None)
        works.block("letter-3")
        works.run("blend_letters_documents")
        done = other.run("sync", None)
        assert done.said == ["1 materializations reported, 0 raw snapshots"]
        assert other.version(BLEND_LETTERS) == works.version(BLEND_LETTERS)


def test_an_empty_lake_reports_nothing(works: Works) -> None:
    assert works.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]
