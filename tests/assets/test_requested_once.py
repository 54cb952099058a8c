"""Each partition is requested once for each change: what terminated, failed and overlapping runs leave behind."""

from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_DIARY,
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY_LETTERS,
    Works,
    letter,
    letters,
)
from ticking import Asked, Daemon, flat

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning"),  # Dagster's own
    pytest.mark.filterwarnings("ignore:Exception ignored in. <generator:pytest.PytestUnraisableExceptionWarning"),
]
NOTHING: Asked = set()
JOURNEY: Asked = {(address, "2025") for address in (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1)}
SLICES: Asked = {(address, "2025") for address in (BLEND_LETTERS, TINY_LETTERS)}


@pytest.fixture
def arrived(daemon: Daemon) -> Daemon:
    """A new snapshot has arrived."""
    daemon.works.raw(letters(4, 5), snapshot="2025")
    daemon.works.arrive()
    return daemon


def test_a_run_that_was_terminated_after_it_had_made_an_input_does_not_come_back(arrived: Daemon) -> None:
    asked = arrived.tick()
    assert asked == JOURNEY | SLICES  # one run
    run = arrived.launch(asked, "2025")
    assert arrived.tick() == NOTHING
    run.go_on(until=LETTERS_V0)
    assert arrived.tick() == NOTHING
    run.terminate()
    assert [arrived.tick() for _ in range(3)] == [NOTHING] * 3


def test_a_run_that_was_terminated_unseen_does_not_come_back(arrived: Daemon) -> None:
    run = arrived.launch(arrived.tick(), "2025")
    run.go_on(until=COUNT_V0)
    run.terminate()
    assert [arrived.tick() for _ in range(3)] == [NOTHING] * 3


def test_what_a_person_makes_between_two_ticks_is_not_requested(daemon: Daemon) -> None:
    daemon.works.raw(letters(4, 5), snapshot="2025")
    daemon.works.arrive()
    daemon.make(JOURNEY)
    assert daemon.tick() == SLICES


def test_what_a_person_terminates_is_not_requested_though_an_input_was_made(arrived: Daemon) -> None:
    arrived.make(arrived.tick())
    arrived.settle()
    arrived.works.raw(letters(4, 5, 6), snapshot="2025")
    arrived.works.arrive()
    run = arrived.launch(JOURNEY, "2025")
    run.go_on(until=COUNT_V0)
    run.terminate()
    assert arrived.tick() == NOTHING


def test_what_sync_reports_is_not_requested(daemon: Daemon, tmp_path: Path) -> None:
    """The lake is a copy of one where more was made, and the daemon does not stop."""
    with dg.DagsterInstance.ephemeral() as instance:
        other = daemon.copy(daemon.works.copy(tmp_path / "other", instance))
        other.works.raw(letters(4, 5), snapshot="2025")
        other.works.raw(letters(1, 2, 3, 6))
        other.works.arrive()
        other.settle()
        behind = daemon.copy(Works(other.works.root, daemon.works.instance))
        assert behind.works.run("sync", None).success
        assert behind.tick() == NOTHING


def test_a_run_that_failed_does_not_come_back(daemon: Daemon) -> None:
    daemon.works.raw([letter(4, "RAISE me now")], snapshot="2025")
    daemon.works.arrive()
    asked = daemon.tick()
    daemon.make(asked, well=False)
    assert not {each for wave in daemon.settle() for each in wave} & JOURNEY


def test_each_is_requested_once_whatever_a_tick_sees(arrived: Daemon) -> None:
    waves = [arrived.tick()]
    run = arrived.launch(waves[0], "2025")
    for address in (LETTERS_V0, COUNT_V0, LETTERS_V1):
        run.go_on(until=address)
        waves.append(arrived.tick())
    run.go_on()
    asked = flat(waves + arrived.settle())
    assert [each for each in asked if each[1]] == sorted({each for each in asked if each[1]}, key=str)


def test_raw_data_that_change_between_two_ticks_are_converted_again(arrived: Daemon) -> None:
    arrived.make(arrived.tick())
    arrived.works.raw(letters(4, 5, 6), snapshot="2025")
    arrived.works.arrive()
    asked = flat(arrived.settle())
    assert [each for each in asked if each in JOURNEY] == sorted(JOURNEY, key=str)
    assert arrived.works.ids(BLEND_LETTERS, snapshot="2025") == ["letter-4", "letter-5", "letter-6"]


def test_raw_data_that_change_while_a_run_reads_them_are_converted_again(arrived: Daemon) -> None:
    run = arrived.launch(arrived.tick(), "2025")
    assert arrived.tick() == NOTHING
    run.go_on(until=LETTERS_V0)
    arrived.works.raw(letters(4, 5, 6), snapshot="2025")
    arrived.works.arrive()
    again = arrived.tick()
    assert again == {(LETTERS_V0, "2025")}
    run.go_on()
    arrived.make(again)
    asked = flat(arrived.settle())
    assert [each for each in asked if each in JOURNEY] == sorted(JOURNEY - again, key=str)
    assert arrived.works.ids(BLEND_LETTERS, snapshot="2025") == ["letter-4", "letter-5", "letter-6"]


def test_a_slice_that_is_made_while_the_index_is_made_is_in_the_next_index(arrived: Daemon) -> None:
    arrived.settle()
    index = arrived.launch({(BLEND_INDEX, None)}, None)
    assert arrived.tick() == NOTHING
    arrived.works.raw(letters(7, 8, source="diary"), source="diary")
    arrived.works.arrive()
    asked = flat(arrived.settle())
    assert (BLEND_DIARY, "2024") in asked
    assert (BLEND_INDEX, None) not in asked
    index.go_on()
    assert arrived.tick() == {(BLEND_INDEX, None)}
