"""Alerts over real runs and a real webhook on loopback."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState, FreshnessStateChange
from dagster._core.definitions.run_request import DagsterRunReaction
from dagster._core.events import JobFailureData
from dagster_kit import environment_of
from hook import Hook, hooked

from assets.support.last_reading import AS_OF
from assets.support.next_steps import OF_KIND
from gristmill.environment import read_environment
from gristmill.errors import RecipeError, StoreError
from gristmill.recipes.catalogue import Catalogue
from resources.pages.news import without_news
from resources.webhook import post_message
from sensors.alert_events import _short
from sensors.alert_messages import Alert, message_of
from sensors.alerts import alert_sensor, alert_sensors

pytestmark = pytest.mark.slow


EXPECTED = {"sources/letters/raw": 24.0}
"""Hours: Watcher's clock reaches them where a test sets it."""


class Wrong(dg.Config):
    kind: str = "DataError"


@dg.op
def look(config: Wrong) -> None:
    if config.kind == "bare":
        raise ZeroDivisionError("by zero")
    if config.kind != "none":
        raise dg.Failure("a.jsonl.gz: row 3 is no JSON\x1b[31m", metadata={"kind": config.kind}, allow_retries=False)


@dg.job(executor_def=dg.in_process_executor)
def letters_journey() -> None:
    look()


@dg.job(executor_def=dg.in_process_executor)
def diary_journey() -> None:
    look()


@dg.asset
def letters() -> None:
    """An asset."""


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec(name, asset="letters") for name in ("ids_unique_audit", "warned", "repeated_audit")]
)
def audits() -> Iterator[dg.AssetCheckResult]:
    yield dg.AssetCheckResult(passed=False, check_name="ids_unique_audit", description="shard a, row 3: twice")
    yield dg.AssetCheckResult(passed=False, check_name="warned", severity=dg.AssetCheckSeverity.WARN)
    yield dg.AssetCheckResult(passed=False, check_name="repeated_audit", metadata={AS_OF: "1a2b3c4d"})


@dg.multi_asset_check(specs=[dg.AssetCheckSpec(f"audit_{number}", asset="letters") for number in range(23)])
def many_audits() -> Iterator[dg.AssetCheckResult]:
    for number in range(23):
        yield dg.AssetCheckResult(
            passed=False, check_name=f"audit_{number}", description="<!channel> @all ![x](http://a)"
        )


class Watcher:
    """The sensor over an instance, tick by tick, with a clock that changes only when it is set."""

    def __init__(self, instance: dg.DagsterInstance, address: str, box: float = 60.0) -> None:
        self.instance, self.now, self.cursor = instance, 1000.0, ""
        environment = replace(
            environment_of(Path("lake")), webhook=address, webhook_silence=60, ui_url="https://ui.example.org"
        )
        self.lake = environment.lake
        self.sensor = alert_sensor(environment, EXPECTED, partial(post_message, waits=()), lambda: self.now, box)

    def tick(self) -> str:
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor or None) as context:
            logged: list[str] = []
            context.log.info = lambda text, *_: logged.append(text)  # type: ignore[method-assign]  # to read it
            told: Any = self.sensor(context)
            self.cursor = context.cursor or ""
        said = self.cursor.partition("\n")[0]
        if isinstance(told, dg.SkipReason):
            assert said == told.skip_message
            return told.skip_message or ""
        assert logged == [said]
        assert isinstance(told[0], DagsterRunReaction)  # such a tick is a success, see test_ticks.py
        return str(said)

    def fail(
        self, job: dg.JobDefinition = letters_journey, kind: str = "DataError", tags: dict[str, str] | None = None
    ) -> str:
        config = {"ops": {"look": {"config": {"kind": kind}}}}
        return job.execute_in_process(instance=self.instance, run_config=config, tags=tags, raise_on_error=False).run_id


@pytest.fixture(params=["memory", "sqlite"])
def watching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Watcher, Hook]]:
    memory = request.param == "memory"
    made = dg.DagsterInstance.ephemeral() if memory else dg.DagsterInstance.local_temp(str(tmp_path))
    with hooked() as hook, made as instance:
        yield Watcher(instance, hook.address), hook


@pytest.fixture
def watched() -> Iterator[tuple[Watcher, Hook]]:
    """The same in memory alone."""
    with hooked() as hook, dg.DagsterInstance.ephemeral() as instance:
        yield Watcher(instance, hook.address), hook


def test_failures_after_the_first_tick_are_posted_with_what_to_do_next(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.fail()
    assert watcher.tick() == "failures from now on are posted"
    run = watcher.fail(tags={"dagster/partition": "2024"})
    watcher.fail(kind="none")
    dg.materialize([letters, audits], instance=watcher.instance)
    assert watcher.tick() == "2 posted, 0 like one of the last 60 s"
    first, second = hook.taken
    following = OF_KIND["DataError"]
    error = "look: a.jsonl.gz: row 3 is no JSON\\x1b[31m"
    assert first == {
        "event": "run_failure",
        "run": run,
        "job": "letters_journey",
        "assets": [],
        "snapshot": "2024",
        "check": "",
        "error": error,
        "next": following,
        "text": f"letters_journey (2024) failed: {error}\nNext: {following}\nLake: {watcher.lake}\nhttps://ui.example.org/runs/{run}",
        "url": f"https://ui.example.org/runs/{run}",
        "lake": watcher.lake,
        "silenced": 0,
    }
    assert (second["event"], second["check"], second["assets"]) == ("check_failure", "ids_unique_audit", ["letters"])
    assert second["text"].startswith(
        "ids_unique_audit of letters failed: shard a, row 3: twice\nNext: see `gristmill plan`"
    )
    assert watcher.tick() == "no failure"
    assert len(hook.taken) == 2


def test_the_same_failure_is_silent_for_a_time_and_counted_then(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    for _ in range(3):
        watcher.fail(tags={"dagster/partition": "2024"})
    watcher.fail(diary_journey, "bare")
    assert watcher.tick() == "2 posted, 2 like one of the last 60 s"
    assert [each["job"] for each in hook.taken] == ["letters_journey", "diary_journey"]
    assert "ZeroDivisionError: by zero" in hook.taken[1]["error"]
    watcher.now += 61
    watcher.fail(tags={"dagster/partition": "2024"})
    watcher.tick()
    assert "2 more like it since the last message" in hook.taken[2]["text"]
    assert (hook.taken[2]["snapshot"], hook.taken[2]["silenced"]) == ("2024", 2)


def test_the_same_failure_of_another_snapshot_is_posted(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    for snapshot in ("2021", "2022", "2021"):
        watcher.fail(tags={"dagster/partition": snapshot})
    assert watcher.tick() == "2 posted, 1 like one of the last 60 s"
    assert [each["snapshot"] for each in hook.taken] == ["2021", "2022"]


def test_the_failure_of_a_run_whose_process_died_has_words_alone_and_is_posted(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    run = watcher.instance.create_run_for_job(letters_journey)
    watcher.instance.report_run_failed(run, "Detected run worker status NOT_FOUND")  # as run monitoring does it
    watcher.fail(diary_journey)
    assert watcher.tick() == "2 posted, 0 like one of the last 60 s"
    dead, failed = hook.taken
    assert (dead["run"], dead["error"]) == (run.run_id, "Detected run worker status NOT_FOUND")
    assert failed["job"] == "diary_journey"


def test_an_event_that_cannot_be_read_is_posted_bare_and_those_behind_it_are_posted(
    watched: tuple[Watcher, Hook],
) -> None:
    watcher, hook = watched
    watcher.tick()
    run = watcher.instance.create_run_for_job(letters_journey)
    step = dg.DagsterEvent("STEP_START", run.job_name, step_key="look")  # it is no failure, so it does not say why
    watcher.instance.report_run_failed(run, "", job_failure_data=JobFailureData(None, None, step))
    watcher.fail(diary_journey)
    assert watcher.tick() == "2 posted, 0 like one of the last 60 s"
    bare, failed = hook.taken
    assert (bare["event"], bare["run"], failed["job"]) == ("unreadable", run.run_id, "diary_journey")
    assert bare["text"].startswith(f"an event of run {run.run_id[:8]}: Gristmill could not read it (CheckError: ")
    assert watcher.tick() == "no failure"


def test_a_message_that_the_webhook_refuses_is_passed_after_three_ticks_and_told(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    refused = watcher.fail(tags={"dagster/partition": "2024"})
    watcher.fail(diary_journey)
    words = "the webhook of GRISTMILL_WEBHOOK answered 413 "
    for _ in range(2):
        hook.answers = [413]
        assert watcher.tick().startswith(f"0 posted; {words}")
        assert hook.taken == []
    hook.answers = [413]
    assert watcher.tick() == "2 posted, 0 like one of the last 60 s"
    other, told = hook.taken
    assert (other["job"], told["event"]) == ("diary_journey", "more")
    assert told["error"].startswith(f"run_failure letters_journey (2024): 1, run {refused[:8]} ({words}")
    assert watcher.tick() == "no failure"


def test_a_webhook_that_refuses_its_address_loses_nothing(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    watcher.fail()
    for status in (401, 403, 404, 410, 401):
        hook.answers = [status]
        with pytest.raises(StoreError, match=f"answered {status}"):
            watcher.tick()
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"


def test_a_webhook_that_refuses_each_message_loses_none_of_their_numbers(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    watcher.fail()
    watcher.fail(diary_journey)
    hook.answers = [422] * 20
    while hook.answers:
        watcher.tick()
    watcher.tick()
    (more,) = hook.taken
    assert (more["event"], more["silenced"]) == ("more", 2)


def test_the_cursor_of_an_earlier_version_is_read(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    cursor = json.loads(without_news(watcher.cursor))
    old = {"said": "", "after": cursor["after"], "posted": {"run_failure a #0": [watcher.now - 61, 2]}, "awaited": {}}
    watcher.cursor = json.dumps(old)
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"
    assert hook.taken[0]["text"].startswith("2 more failed: run_failure a: 2\n")


def test_what_a_webhook_did_not_take_is_posted_at_a_later_tick(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    watcher.fail()
    watcher.fail(diary_journey)
    hook.answers = [500]
    with pytest.raises(StoreError, match="answered 500"):
        watcher.tick()
    hook.answers = [200, 500]
    assert (
        watcher.tick()
        == "1 posted; the webhook of GRISTMILL_WEBHOOK answered 500 Internal Server Error; the next tick tries again"
    )
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"
    assert [each["job"] for each in hook.taken] == ["letters_journey", "diary_journey"]


def test_a_run_of_the_automation_is_named_by_its_assets_and_lines_of_an_error_stay_lines() -> None:
    alert = Alert(
        event="run_failure",
        run="0b1c",
        job="__ASSET_JOB",
        assets=["sources/letters/v0/documents", "sources/letters/v1/documents"],
        snapshot="2024",
        check="",
        error=_short("2 of 2 shards failed:\nshard a: \x1b[31m\nNext: forged"),
        next="mend it",
    )
    assert message_of(alert, "", 0, "s3://bucket/lake")["text"].split("\n") == [
        "a run of sources/letters/v0/documents and 1 more (2024) failed: 2 of 2 shards failed:",
        "    shard a: \\x1b[31m",
        "    Next: forged",
        "Next: mend it",
        "Lake: s3://bucket/lake",
    ]


def test_a_crowd_of_failures_is_counted_in_one_message_and_none_is_lost(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    dg.materialize([letters, many_audits], instance=watcher.instance)
    hook.answers = [200] * 20 + [500]
    assert watcher.tick().startswith("20 posted; the webhook of GRISTMILL_WEBHOOK answered 500")
    assert watcher.tick() == "3 posted, 0 like one of the last 60 s"
    assert [each["check"] for each in hook.taken] == [f"audit_{number}" for number in range(23)]
    watcher.now += 61
    more_run = dg.materialize([letters, many_audits], instance=watcher.instance).run_id[:8]
    assert watcher.tick() == "21 posted, 0 like one of the last 60 s"
    more = hook.taken[-1]
    assert (more["event"], more["silenced"], more["url"]) == ("more", 3, "https://ui.example.org/runs")
    assert more["text"].startswith(
        f"3 more failed: check_failure audit_20 letters: 1, run {more_run}; check_failure audit_21"
    )
    assert watcher.tick() == "no failure"
    assert hook.taken[0]["error"] == "<!channel> @all ![x](http://a)"
    assert not set("<>@") & set(hook.taken[0]["text"])  # words of the data call nobody in a chat
    assert "](" not in hook.taken[0]["text"]


def test_a_tick_out_of_time_leaves_the_rest_to_the_next(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    watcher.fail()
    watcher.fail(diary_journey)
    hurried = Watcher(watcher.instance, hook.address, box=-1.0)
    hurried.cursor = watcher.cursor
    assert hurried.tick() == "no failure; the next tick continues"
    watcher.cursor = hurried.cursor
    assert watcher.tick() == "2 posted, 0 like one of the last 60 s"


def test_what_was_left_out_is_counted_when_its_silence_is_over(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    run = [watcher.fail() for _ in range(3)][-1][:8]
    assert watcher.tick() == "1 posted, 2 like one of the last 60 s"
    watcher.now += 61
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"
    assert hook.taken[-1]["text"].startswith(f"2 more failed: run_failure letters_journey: 2, run {run}\nNext: open")
    assert watcher.tick() == "no failure"


def test_a_clock_that_is_set_back_silences_nothing(watched: tuple[Watcher, Hook]) -> None:
    watcher, hook = watched
    watcher.tick()
    for _ in range(2):
        watcher.fail()
        watcher.tick()
        watcher.now -= 500
    assert len(hook.taken) == 2


def test_a_failure_waits_until_dagster_says_whether_it_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("run_retries: {enabled: true}\ntelemetry: {enabled: false}\n")
    with hooked() as hook, dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        watcher = Watcher(instance, hook.address)
        watcher.tick()
        run = instance.create_run_for_job(letters_journey)
        failed = dg.DagsterEvent("PIPELINE_FAILURE", run.job_name, event_specific_data=JobFailureData(None))
        entry = dg.EventLogEntry(None, "DEBUG", "", run.run_id, 1000.0, None, run.job_name, failed)  # type: ignore[no-untyped-call]
        instance.event_log_storage.store_event(entry)  # Dagster's tag follows
        assert watcher.tick() == "no failure"
        watcher.now += 61  # it never came: the process has died
        assert watcher.tick() == "1 posted, 0 like one of the last 60 s"


def test_runs_that_are_tried_again_or_superseded_are_not_posted(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    watcher.fail(tags={"dagster/will_retry": "true"})
    watcher.fail(kind="Superseded")
    assert watcher.tick() == "no failure"
    assert hook.taken == []


def test_a_source_that_is_late_is_posted(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    key = dg.AssetKey(["sources", "letters", "raw"])
    for before, after in (("UNKNOWN", "PASS"), ("PASS", "FAIL")):
        change = FreshnessStateChange(
            key=key,
            previous_state=FreshnessState(before),
            new_state=FreshnessState(after),
            state_change_timestamp=1.0,
        )
        watcher.instance._report_runless_asset_event(change)  # noqa: SLF001 - as Dagster's daemon does it
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"
    (late,) = hook.taken
    assert late["text"].startswith("sources/letters/raw is late: no snapshot has ever come; one was expected within 24")
    assert (late["event"], late["url"]) == ("source_late", "https://ui.example.org/assets/sources/letters/raw")


def test_a_source_that_never_had_a_snapshot_is_late_once_its_hours_are_over(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    assert watcher.tick() == "no failure"  # the tick that first sees it
    watcher.now += 24 * 3600 - 1
    assert watcher.tick() == "no failure"
    watcher.now += 1
    hook.answers = [500]
    with pytest.raises(StoreError, match="answered 500"):
        watcher.tick()
    assert watcher.tick() == "1 posted, 0 like one of the last 60 s"
    assert (hook.taken[0]["event"], hook.taken[0]["assets"]) == ("source_late", ["sources/letters/raw"])
    watcher.now += 24 * 3600
    assert watcher.tick() == "no failure"


@dg.asset
def kept() -> None:
    """An asset that is made."""


@dg.asset(deps=[kept])
def refused() -> None:
    raise dg.Failure("row 3 is no JSON", allow_retries=False)


@dg.asset(deps=[refused])
def below() -> None:
    """An asset of which nothing is made, as what it reads failed."""


def test_a_failed_run_of_a_whole_job_names_the_assets_that_it_did_not_make(watching: tuple[Watcher, Hook]) -> None:
    watcher, hook = watching
    watcher.tick()
    defined = dg.Definitions(
        assets=[kept, refused, below], jobs=[dg.define_asset_job("words_journey", "*")], executor=dg.in_process_executor
    )
    job = defined.resolve_job_def("words_journey")
    assert not job.execute_in_process(instance=watcher.instance, raise_on_error=False).success
    watcher.tick()
    (alert,) = hook.taken
    assert (alert["job"], alert["assets"]) == ("words_journey", ["below", "refused"])
    assert alert["text"].startswith("words_journey failed: refused: row 3 is no JSON")


def test_a_damaged_cursor_begins_anew(watching: tuple[Watcher, Hook]) -> None:
    watcher, _ = watching
    for cursor in ("nonsense", "{}", '{"after": 3, "posted": []}'):
        watcher.cursor = cursor
        assert watcher.tick() == "failures from now on are posted"


def test_without_a_webhook_there_is_no_sensor_and_its_address_is_told_to_nobody() -> None:
    assert alert_sensors(read_environment({}), Catalogue({}, {}, {}, {})) == []
    told = read_environment({"GRISTMILL_WEBHOOK": "https://hooks.example.org/secret"})
    assert [sensor.name for sensor in alert_sensors(told, Catalogue({}, {}, {}, {}))] == ["alerts"]
    assert "secret" not in repr(told)
    with pytest.raises(RecipeError, match="GRISTMILL_WEBHOOK is no address of the web") as wrong:
        read_environment({"GRISTMILL_WEBHOOK": "file:///etc/secret"})
    assert "secret" not in str(wrong.value)
