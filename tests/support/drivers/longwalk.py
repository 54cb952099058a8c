"""A walk over all attacks of a suite, which takes hours: in several processes, and noted after each attack."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

Attack = TypeVar("Attack")
PART = os.environ.get("PART") or "1/1"
LOG = os.environ.get("LOG") or ""
_BEFORE = Path(LOG).read_text().splitlines() if LOG and Path(LOG).exists() else []
_RIGHT = {name for name, wrong, _ in map(json.loads, _BEFORE) if not wrong}


def part(drawn: Sequence[Attack]) -> list[Attack]:
    """The attacks of this process: PART=2/3 is the second of three. What LOG had at the beginning as right is left out.

    Args:
        drawn: the attacks; `str` names each.
    """
    number, of = map(int, PART.split("/"))
    return [each for each in drawn[number - 1 :: of] if str(each) not in _RIGHT]


def note(name: object, told: object, *, wrong: bool) -> None:
    """Adds a line on an attack to the file LOG, if it is named.

    Args:
        name: of the attack.
        told: what came of it.
        wrong: whether it should not have come.
    """
    if LOG:
        with Path(LOG).open("a") as log:
            log.write(json.dumps([str(name), wrong, told]) + "\n")
