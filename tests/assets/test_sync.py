"""sync: a fresh database learns what the lake holds."""

import dagster as dg
from dagster_kit import BLEND_LETTERS, JOURNEY, TINY, TINY_LETTERS, Works


def test_a_fresh_instance_learns_partitions_and_versions_and_then_nothing_more(made: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(made.root, fresh)
        assert other.materialized(BLEND_LETTERS) == set()
        done = other.run("sync", None)
        assert done.success
        assert done.said == ["10 materializations reported, 1 raw snapshots"]
        assert fresh.get_dynamic_partitions("snapshots/letters") == ["2024"]
        for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
            assert other.materialized(address) == {"2024"}
            assert other.version(address) == made.version(address) == made.fingerprint(address)
        assert other.version(TINY, None) == made.version(TINY, None)
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


def test_an_instance_that_made_it_all_is_told_nothing(made: Works) -> None:
    assert made.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]


def test_only_what_changed_is_reported(made: Works) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(made.root, fresh)
        other.run("sync", None)
        made.block("letter-3")
        made.run("blend_letters_documents")
        done = other.run("sync", None)
        assert done.said == ["1 materializations reported, 0 raw snapshots"]
        assert other.version(BLEND_LETTERS) == made.version(BLEND_LETTERS)


def test_an_empty_lake_reports_nothing(works: Works) -> None:
    assert works.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]
