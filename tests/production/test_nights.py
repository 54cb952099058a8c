"""Two nights of production: something is killed while it is at work, and nobody lends it a hand.

`make faults` has thirty-eight of them (tests/support/drivers/mishaps/nights.py).
"""

import random
from collections.abc import Iterator

import pytest
from mishaps.night_figures import Failed, Figures, table
from mishaps.nights import (
    ACTIVITIES,
    ALONE,
    AUTOMATION,
    FAILED,
    GATE,
    IDLE,
    JOURNEY,
    RUN,
    VICTIMS,
    Night,
    Nights,
    night_of,
    night_of_two,
)
from seaweed import KEY, SECRET


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """A deployment for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        nights = Nights(tmp_path_factory.mktemp("nights"), print)
        yield nights
        nights.close()


@pytest.mark.live
@pytest.mark.parametrize(
    "night",
    [Night(AUTOMATION, (RUN, "code server"), GATE), Night(JOURNEY, ("Postgres", "webhook"), FAILED)],
    ids=str,
)
def test_after_a_night_nothing_is_lost_the_failure_is_told_and_red_is_red(nights: Nights, night: Night) -> None:
    try:
        assert nights.play(night) == len(night.victims)
    except LookupError as missing:
        pytest.skip(str(missing))


def test_twenty_eight_nights_have_all_activities_and_victims() -> None:
    nights = [night_of(number, random.Random(number)) for number in range(len(ALONE))]
    assert {(night.activity, *night.victims) for night in nights} == {(a, v) for a in ACTIVITIES for v in VICTIMS}
    assert len(nights) == 28


def test_a_run_is_killed_at_the_gate_and_an_idle_deployment_has_none() -> None:
    for number in range(200):
        night = night_of_two(number, random.Random(number))
        assert VICTIMS[number % 7] in night.victims
        assert len(set(night.victims)) == 2
        if night.activity == IDLE:
            assert night.moment != GATE
        elif RUN in night.victims:
            assert night.moment == GATE


def test_each_night_has_a_row_with_its_figures_or_with_what_did_not_come() -> None:
    seen = Figures(
        "idle, daemon killed, asked", lost=0, objects=24, told=1, told_after=11.6, empty_after=0.0, red=6, after=13.0
    )
    lines = table([seen, Failed("idle, run killed, asked", "an audit that is red did not come")]).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["night", "idle, daemon killed, asked", "idle, run killed, asked"]
    assert lines[1].split()[4:] == ["0", "of", "24", "1", "12", "s", "0", "s", "6", "13", "s"]
    assert lines[2].endswith("NOT RECOVERED: an audit that is red did not come")
