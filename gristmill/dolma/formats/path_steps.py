"""Steps of a JSONPath, evaluated as Dolma's engine does: jsonpath-rust 0.3.5.

That engine is older than the standard, and differs from it: see docs/how-to/dolma-mix.md. What it does with a document
is repeated here; tests compare it with the engine itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

Json = Any


class PathStep(Protocol):
    """One step of a path."""

    def find(self, value: Json, root: Json) -> Sequence[Json]:
        """The values that the step leads to.

        Args:
            value: value where the step begins.
            root: the document.
        """


@dataclass(frozen=True)
class FieldStep:
    """`.key` or `['key']`."""

    key: str

    def find(self, value: Json, root: Json) -> Sequence[Json]:  # noqa: ARG002 - as all steps
        return (value[self.key],) if isinstance(value, dict) and self.key in value else ()


@dataclass(frozen=True)
class IndexStep:
    """`[0]`."""

    index: int

    def find(self, value: Json, root: Json) -> Sequence[Json]:  # noqa: ARG002 - as all steps
        return (value[self.index],) if isinstance(value, list) and self.index < len(value) else ()


@dataclass(frozen=True)
class UnionStep:
    """`['a','b']` or `[0,2]`."""

    steps: tuple[FieldStep | IndexStep, ...]

    def find(self, value: Json, root: Json) -> Sequence[Json]:
        return [found for step in self.steps for found in step.find(value, root)]


@dataclass(frozen=True)
class SliceStep:
    """`[start:end:step]`. A bound outside the list finds nothing; an end of 0 is the end of the list.

    Attributes:
        start: the first index; below 0: from the end.
        end: the index behind the last one.
        step: distance from one index to the next, at least 1.
    """

    start: int
    end: int
    step: int

    def find(self, value: Json, root: Json) -> Sequence[Json]:  # noqa: ARG002 - as all steps
        if not isinstance(value, list):
            return ()
        size = len(value)
        if not (-size <= self.start <= size and -size <= self.end <= size):
            return ()
        start = self.start + size if self.start < 0 else self.start
        end = self.end + size if self.end < 0 else self.end
        return value[start : end or size : self.step]


@dataclass(frozen=True)
class WildcardStep:
    """`.*` or `[*]`; the fields of an object in the order of their names."""

    def find(self, value: Json, root: Json) -> Sequence[Json]:  # noqa: ARG002 - as all steps
        return child_values(value)


@dataclass(frozen=True)
class DescendantStep:
    """`..key`, or `..*` if `key` is None."""

    key: str | None

    def find(self, value: Json, root: Json) -> Sequence[Json]:  # noqa: ARG002 - as all steps
        return list(self._all_descendants(value))

    def _all_descendants(self, value: Json) -> Iterator[Json]:
        if self.key is not None and isinstance(value, dict) and self.key in value:
            yield value[self.key]
        for child in child_values(value):
            if self.key is None:
                yield child
            yield from self._all_descendants(child)


def child_values(value: Json) -> Sequence[Json]:
    """The elements of a list, or the values of an object in the order of their names."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else ()


@dataclass(frozen=True)
class JsonPath:
    """A path.

    Attributes:
        text: text as it was written.
        steps: steps from the document, or from the element of a filter.
        from_root: whether it begins at the document.
    """

    text: str
    steps: tuple[PathStep, ...]
    from_root: bool = True

    def find(self, value: Json, root: Json) -> Sequence[Json]:
        """All values that it leads to.

        Args:
            value: the element, if it is in a filter.
            root: the document.
        """
        found: Sequence[Json] = (root if self.from_root else value,)
        for step in self.steps:
            found = [each for before in found for each in step.find(before, root)]
        return found

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The top fields of the document that it reads; None if it may read any."""
        if self.from_root:
            if not self.steps or not isinstance(self.steps[0], FieldStep):
                return None
            found = {self.steps[0].key}
        else:
            found = set()
        for step in self.steps:
            for path in getattr(step, "paths", ()):
                if path.fields is None:
                    return None
                found |= path.fields
        return frozenset(found)

    def matches(self, document: Json) -> bool:
        """Whether it leads to any value; null is one."""
        return bool(self.find(document, document))
