"""A journey from raw to a mix whose rows can be counted by eye; it says what each step ground."""

from testkit import Mill

from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule, field

EVEN = Stream(
    source="pages",
    version="v1",
    columns=(field("metadata.number", "BIGINT"),),
    include=(Rule("by-four", "number % 4 = 0", "every fourth, to count by eye"),),
)


def journey(mill: Mill) -> dict[str, list[str]]:
    """Raw to v0, attributes, v1 and a mix; what each step ground."""
    ground: dict[str, list[str]] = {}
    mill.convert()
    ground["v0"] = mill.ground
    mill.tag("words-1")
    ground["words"] = mill.ground
    mill.revise()
    ground["v1"] = mill.ground
    mill.mix(EVEN)
    ground["mix"] = mill.ground
    return ground


def everywhere(*names: str) -> dict[str, list[str]]:
    """What journey() gives where every step ground the same shards."""
    return {step: list(names) for step in ("v0", "words", "v1", "mix")}
