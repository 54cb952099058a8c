"""What an event of Dagster says in an alert."""

import dagster as dg
import pytest
from dagster._core.events import JobFailureData
from dagster_kit import LETTERS_V0, Works, letter

from assets.support.next_steps import OF_CHECK, OF_DEAD
from sensors.alert_events import LONGEST, _failure, _short, alert_of, is_undecided


def test_a_failure_without_data_has_the_words_of_its_event() -> None:
    event = dg.DagsterEvent("PIPELINE_FAILURE", "sync", message="the queue gave up")
    assert _failure(event) == ("the queue gave up", "", OF_DEAD)
    assert _failure(event._replace(message=None)) == ("no reason was recorded", "", OF_DEAD)
    assert _failure(event._replace(event_specific_data=JobFailureData(None))) == ("the queue gave up", "", OF_DEAD)


@pytest.mark.slow
def test_an_alert_and_the_page_of_its_run_say_the_same_mend(works: Works) -> None:
    works.raw([letter(1), letter(1, "twice")])
    works.arrive("letters")
    done = works.run("letters_journey", only=[LETTERS_V0])
    [page] = [event.step_failure_data.user_failure_data for event in done.events if event.is_step_failure]
    [failed] = [each for each in done.entries if each.dagster_event_type == dg.DagsterEventType.RUN_FAILURE]
    alert = alert_of(works.instance, failed, {})
    assert page is not None
    assert alert is not None
    assert alert.next == page.metadata["run next"].value == OF_CHECK["ids_unique"]


def test_an_event_that_is_no_failure_is_never_undecided() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        entry = dg.EventLogEntry(None, "INFO", "", "0b1c", 1000.0, None, "sync", None)  # type: ignore[no-untyped-call]
        assert not is_undecided(instance, entry, 1000.0)


def test_words_are_bounded_and_their_lines_are_indented() -> None:
    assert _short("a\nNext: b\x1b") == "a\n    Next: b\\x1b"
    assert _short("a" * LONGEST) == "a" * LONGEST
    assert _short("a" * (LONGEST + 1)) == f"{'a' * LONGEST} ..."
