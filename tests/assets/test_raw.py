from dataclasses import replace

from dagster._core.definitions.freshness import TimeWindowFreshnessPolicy

from assets.raw import raw_spec
from gristmill.recipes.adopted.dataset import refuse_conversion
from gristmill.recipes.source import Source


def test_a_source_with_expected_hours_has_a_freshness_policy() -> None:
    source = Source(name="letters", convert=refuse_conversion, expected_hours=1.5)
    policy = raw_spec(source).freshness_policy
    assert isinstance(policy, TimeWindowFreshnessPolicy)
    assert policy.fail_window.to_timedelta().total_seconds() == 5400
    assert raw_spec(replace(source, expected_hours=None)).freshness_policy is None


def test_the_page_of_raw_data_says_who_reports_their_snapshots() -> None:
    source = Source(name="old-letters", convert=refuse_conversion)
    assert "The sensor `raw_arrivals` reports its snapshots." in (raw_spec(source).description or "")
    unwatched = raw_spec(replace(source, watched=False)).description or ""
    assert "The job `sync` reports its snapshots." in unwatched
