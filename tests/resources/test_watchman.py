"""The watchman, over a real database of Dagster: heartbeats and ticks as the daemon writes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._daemon.types import DaemonHeartbeat

from gristmill.environment import Environment
from gristmill.errors import StoreError
from resources.health import Looker
from resources.watchman import DAY, Watchman
from resources.webhook import RefusedMessage

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0
DAEMON = "the daemon has shown no sign of life for 300 s"
CODE = "the code server cannot be read"


def beat(instance: dg.DagsterInstance, now: float = NOW) -> None:
    for kind in instance.get_required_daemon_types():
        instance.add_daemon_heartbeat(DaemonHeartbeat(now, kind, "d", None))


def watchman_of(instance: dg.DagsterInstance, environment: Environment, **options: Any) -> Watchman:
    return Watchman(instance, Looker(instance, dict, environment), environment, **options)


def test_what_is_wrong_for_two_minutes_is_told_once_and_life_once_a_day(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    told: list[str] = []

    def post(address: str, message: Mapping[str, Any]) -> None:
        assert address == environment.webhook
        told.append(f"{message['event']}: {message['text']}")

    watchman, other = (watchman_of(instance, environment, post=post) for _ in range(2))
    silent = watchman_of(instance, environment, post=post, tells=False)
    for seconds in (0, 30, 119):
        for each in (silent, watchman, other):
            each.look_and_post(NOW + seconds)
    assert told == []
    for seconds in (120, 150, 5000):
        for each in (silent, watchman, other):
            each.look_and_post(NOW + seconds)
    assert len(told) == 2
    assert told[0].startswith(f"not_well: {DAEMON}")
    assert told[1].startswith("alive: Gristmill is alive: 0 runs wait or start, the oldest for 0 s; ")
    assert f"; but {DAEMON}" in told[1]
    assert told[0].endswith(
        "Next: see whether dagster-daemon runs, and what its log says; start it again\n"
        f"Lake: {environment.lake}\nhttps://ui/deployment"
    )
    told.clear()
    beat(instance, NOW + 6000)
    watchman.look_and_post(NOW + 6000)
    assert told == []
    for seconds in (7000, 7120):  # gone again
        watchman.look_and_post(NOW + seconds)
    assert [words.partition(":")[0] for words in told] == ["not_well"]
    told.clear()
    watchman.look_and_post(NOW + 2 * DAY)
    other.look_and_post(NOW + 2 * DAY)
    assert [words.partition(":")[0] for words in told] == ["alive"]


def test_a_message_that_the_webhook_did_not_take_is_posted_again(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    told: list[str] = []
    away = True

    def post(_: str, message: Mapping[str, Any]) -> None:
        if away:
            raise StoreError("the webhook of GRISTMILL_WEBHOOK did not answer")
        told.append(message["event"])

    watchman = watchman_of(instance, environment, post=post)
    with pytest.raises(StoreError, match="did not answer"):
        watchman.look_and_post(NOW)
    assert watchman.last_look() is not None  # the page shows the look all the same
    away = False
    watchman.look_and_post(NOW + 30)
    assert told == ["alive"]


def test_a_message_that_the_webhook_refuses_holds_back_no_other_and_is_posted_until_it_is_taken(
    instance: dg.DagsterInstance, environment: Environment
) -> None:
    asked: list[str] = []
    told: list[str] = []
    refuses = True

    def post(_: str, message: Mapping[str, Any]) -> None:
        words = message["text"].partition("\n")[0]
        asked.append(words)
        if refuses and words.startswith(CODE):
            raise RefusedMessage("the webhook of GRISTMILL_WEBHOOK answered 422")
        told.append(words)

    unknown = {"location": None}  # code servers that cannot be asked, beside a daemon that is gone
    watchman = Watchman(instance, Looker(instance, lambda: unknown, environment), environment, post=post)
    watchman.look_and_post(NOW)
    for seconds in (120, 150):
        with pytest.raises(RefusedMessage, match="answered 422"):
            watchman.look_and_post(NOW + seconds)
    first, second = told
    assert (first.startswith(DAEMON), second.startswith("Gristmill is alive: ")) == (True, True)
    assert sum(words.startswith(CODE) for words in asked) == 2
    refuses = False
    for seconds in (180, 210):
        watchman.look_and_post(NOW + seconds)
    assert [words.startswith(CODE) for words in told] == [False, False, True]


@pytest.mark.parametrize("error", [RefusedMessage("answered 413"), StoreError("did not answer")], ids=["413", "away"])
def test_while_the_daily_message_is_not_taken_what_is_wrong_again_is_told_again(
    instance: dg.DagsterInstance, environment: Environment, error: StoreError
) -> None:
    told: list[str] = []

    def post(_: str, message: Mapping[str, Any]) -> None:
        if message["event"] == "alive":
            raise error
        told.append(message["text"].partition("\n")[0])

    def not_taken(seconds: float) -> None:
        with pytest.raises(type(error), match=str(error)):
            watchman.look_and_post(NOW + seconds)

    watchman = watchman_of(instance, environment, post=post)
    watchman.look_and_post(NOW)
    not_taken(120)
    assert len(told) == 1
    beat(instance, NOW + 6000)
    not_taken(6000)
    watchman.look_and_post(NOW + 7000)  # gone again
    not_taken(7120)
    assert [words.startswith(DAEMON) for words in told] == [True, True]


def test_a_database_that_is_away_is_told_too(
    home: Path, instance: dg.DagsterInstance, environment: Environment
) -> None:
    beat(instance)
    told: list[str] = []
    watchman = watchman_of(
        instance, environment, post=lambda _, message: told.append(message["text"].partition("\n")[0])
    )
    watchman.look_and_post(NOW)
    for name in home.rglob("*.db"):
        name.write_bytes(b"no database" * 1000)
    for seconds in (30, 100, 150, 200):
        watchman.look_and_post(NOW + seconds)
    assert len(told) == 2
    assert told[1].startswith("the database cannot be read (")
