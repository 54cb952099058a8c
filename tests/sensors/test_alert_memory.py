"""The cursor of the sensor `alerts`, from its bytes to its bytes."""

import json
from dataclasses import asdict

from sensors.alert_memory import KINDS, Memory, load_memory
from sensors.alert_messages import Unposted

AFTER = {kind.value: number for number, kind in enumerate(KINDS)}


def test_a_cursor_is_what_was_remembered() -> None:
    memory = Memory(AFTER, {"a": (1.0, Unposted(2, "0b1c"))}, {"raw": None}, {"a": 1}, {"b": Unposted(1, "", "413")})
    assert load_memory(json.dumps(asdict(memory))) == memory


def test_the_cursor_of_an_earlier_version_has_numbers_alone() -> None:
    memory = load_memory(json.dumps({"after": AFTER, "posted": {"a": [1.0, 2]}}))
    assert memory == Memory(AFTER, {"a": (1.0, Unposted(2))})


def test_what_cannot_be_read_is_no_memory() -> None:
    for cursor in (None, "", "{}", "nonsense", json.dumps({"after": AFTER, "posted": {"a": [1.0, {"number": 2}]}})):
        assert load_memory(cursor) is None
