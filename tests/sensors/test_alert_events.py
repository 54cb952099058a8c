"""What an event of Dagster says in an alert."""

import dagster as dg
from dagster._core.events import JobFailureData

from sensors.alert_events import LONGEST, _failure, _short, is_undecided


def test_a_failure_without_data_has_the_words_of_its_event() -> None:
    event = dg.DagsterEvent("PIPELINE_FAILURE", "sync", message="the queue gave up")
    assert _failure(event) == ("the queue gave up", "")
    assert _failure(event._replace(message=None)) == ("no reason was recorded", "")
    assert _failure(event._replace(event_specific_data=JobFailureData(None))) == ("the queue gave up", "")


def test_an_event_that_is_no_failure_is_never_undecided() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        entry = dg.EventLogEntry(None, "INFO", "", "0b1c", 1000.0, None, "sync", None)  # type: ignore[no-untyped-call]
        assert not is_undecided(instance, entry, 1000.0)


def test_words_are_bounded_and_their_lines_are_indented() -> None:
    assert _short("a\nNext: b\x1b") == "a\n    Next: b\\x1b"
    assert _short("a" * LONGEST) == "a" * LONGEST
    assert _short("a" * (LONGEST + 1)) == f"{'a' * LONGEST} ..."
