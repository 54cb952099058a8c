"""The work that one rendering may do. It is counted, not timed, so that a row has the same result on every machine."""

import re
from collections.abc import Mapping, MappingView

STEPS = 2_000_000
"""Steps of one rendering: a call is four; a pass through a loop and a filter are one each, and so are 1,024 characters
or 16 elements that one of these reads or makes. They take about five seconds."""
LONGEST = 2**28
"""Characters of the longest string that a rendering may make."""
DEEPEST = 48
"""How deep calls of macros may nest, and containers that are printed or compared."""
UNBOUNDED = "not bounded"
"""The reason counted for rows whose rendering does too much."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class Unrendered(Exception):  # noqa: N818 - caught by chat_rows alone, which counts it by its reason
    """A conversation that a template cannot render.

    Args:
        reason: short and stable, because the ledger counts rows by it.
        detail: description of the fault.
    """

    def __init__(self, reason: str, detail: str) -> None:
        detail = _SURROGATES.sub("?", detail)  # a message that a template makes may have twins or marks
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


class Budget:
    """Counts the steps of one rendering.

    Attributes:
        left: steps that are left.
        depth: the number of calls that have begun and not ended.
    """

    def __init__(self) -> None:
        self.reset_for_rendering()

    def reset_for_rendering(self) -> None:
        """Begins a rendering."""
        self.left = STEPS
        self.depth = 0

    def count_steps(self, steps: int) -> None:
        """Counts steps.

        Raises:
            Unrendered: the rendering has done too many.
        """
        self.left -= steps
        if self.left < 0:
            raise Unrendered(UNBOUNDED, f"rendering takes more than {STEPS:,} steps")

    def begin_call(self) -> None:
        """Counts one call that begins.

        Raises:
            Unrendered: calls are nested too deep.
        """
        self.depth += 1
        self.count_steps(4)
        if self.depth > DEEPEST:
            raise Unrendered(UNBOUNDED, f"more than {DEEPEST} calls are nested")

    def characters(self, count: int) -> None:
        """Counts the characters of a string, before it is made if possible.

        Raises:
            Unrendered: the string is too long, or the rendering has done too much.
        """
        if count > LONGEST:
            raise Unrendered(UNBOUNDED, f"a string has more than {LONGEST:,} characters")
        self.count_steps(count >> 10)

    def value(self, value: object) -> None:
        """Counts a value, but not what is inside its elements."""
        if isinstance(value, str):
            self.characters(len(value))
        elif isinstance(value, list | tuple | Mapping | range):
            self.count_steps(len(value) >> 4)

    def count_value(self, value: object, depth: int = 0) -> None:
        """Counts a value with everything inside. A list that holds another one twice counts it twice, as its text does.

        Raises:
            Unrendered: it is nested too deep, or the rendering has done too much.
        """
        if isinstance(value, str):
            self.characters(len(value))
        elif isinstance(value, range):
            self.count_steps(len(value))
        elif isinstance(value, MappingView):
            self.count_value([*value], depth)  # type: ignore[misc] # all three views can be iterated
        elif isinstance(value, list | tuple | Mapping):
            if depth > DEEPEST:
                raise Unrendered(UNBOUNDED, f"a value is nested more than {DEEPEST} deep")
            self.count_steps(len(value))
            for part in (*value.keys(), *value.values()) if isinstance(value, Mapping) else value:
                self.count_value(part, depth + 1)


def value_length(value: object) -> int:
    """The number of characters or elements of a value; 0 if it has none."""
    return len(value) if isinstance(value, str | list | tuple | Mapping) else 0
