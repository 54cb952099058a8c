"""Real Energon reads the small texts that we write as they are meant: YAML, and the names of fields."""

import json

import pytest
from peer import Ask

from gristmill.energon.formats.sample_types import SAMPLE_TYPES
from gristmill.formats.yaml_text import yaml_bytes

pytestmark = pytest.mark.slow


def test_every_character_comes_back_from_its_parser(energon: Ask) -> None:
    chars = [*range(0x180), 0x2028, 0x2029, 0xFEFF, 0xFFFD, 0x1F600]
    values = [{"key": f"a{chr(each)}b", f"a{chr(each)}b": "value"} for each in chars]
    [answer] = energon({"do": "yaml", "texts": [yaml_bytes(value).decode() for value in values]})
    assert answer == {"values": values}


def test_values_of_every_kind_come_back_from_its_parser(energon: Ask) -> None:
    value = {
        "strings": ["1e5", "12e4567", "0.5", "null", "yes", "", " a ", "~", "{a: b}", "- a", "#", "a: b"],
        "numbers": [0, -3, 0.5, 1e-05, 1e300, 12345678901234567890],
        "others": [True, False, None, [], {}],
        "deep": [{"weight": 3, "subflavors": {"version": "1e5"}}, {"weight": 1}],
    }
    [answer] = energon({"do": "yaml", "texts": [yaml_bytes(value).decode()]})
    assert answer == {"values": [value]}


def test_the_sample_types_are_those_of_the_real_package(energon: Ask) -> None:
    places = {kind.name: kind.module for kind in SAMPLE_TYPES.values()}
    [answer] = energon({"do": "types", "types": json.dumps(places)})
    ours = {kind.name: {each.name: each.required for each in kind.fields} for kind in SAMPLE_TYPES.values()}
    assert answer == {"types": ours}
