from typing import Any

from sensors.alert_messages import Alert, Unposted, message_of, message_of_more

COMMON: dict[str, Any] = {"event": "run_failure", "run": "1", "snapshot": "", "check": "", "error": "e", "next": "n"}


def test_a_run_of_many_assets_is_named_by_the_first_and_is_another_topic_than_its_like() -> None:
    addresses = [f"sources/letters/v0/attributes/a-rather-long-name-{number:02}" for number in range(100)]
    alert, other = (Alert(job="__ASSET_JOB", assets=some, **COMMON) for some in (addresses, addresses[:-1]))
    assert alert.topic != other.topic
    message = message_of(alert, "", 0, "/lake")
    assert message["text"].startswith(
        "a run of sources/letters/v0/attributes/a-rather-long-name-00 and 99 more failed: e"
    )
    assert len(message["assets"]) == 20


def test_a_job_with_a_name_is_named() -> None:
    assert message_of(Alert(job="sync", assets=["a", "b"], **COMMON), "", 0, "/lake")["text"].startswith(
        "sync failed: e"
    )


def test_a_message_of_many_kinds_names_twenty() -> None:
    message = message_of_more(
        {f"run_failure job_{number} #0": Unposted(2, "0b1c2d3e4f") for number in range(1000)}, "", "/lake"
    )
    assert message["text"].startswith("2000 more failed: run_failure job_0: 2, run 0b1c2d3e; ")
    assert "; 980 other kinds\n" in message["text"]
    assert message["text"].endswith("\nLake: /lake")
    assert message["silenced"] == 2000
