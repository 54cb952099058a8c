"""KeyPath: the path of a document's key, such as `$.metadata.url`, as Dolma's dedupe takes it."""

import re
from dataclasses import dataclass
from typing import Any

from gristmill.errors import RecipeError

_STEP = re.compile(r"""\.([A-Za-z0-9_-]+)|\[(?:'([^'\\]*)'|"([^"\\]*)"|([0-9]{1,9}))\]""")


@dataclass(frozen=True)
class KeyPath:
    """Names and indices that lead from a document to its key.

    Attributes:
        text: text as it was written.
        steps: names of fields, and indices in lists.

    >>> KeyPath.parse("$.metadata['urls'][0]").steps
    ('metadata', 'urls', 0)
    """

    text: str
    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> "KeyPath":
        """Reads a JSONPath.

        Args:
            text: `$`, then `.name`, `['name']` or `[0]` any number of times.

        Returns:
            The path.

        Raises:
            RecipeError: it is another JSONPath, or none.
        """
        steps: list[str | int] = []
        at = 1
        while text.startswith("$") and at < len(text):
            step = _STEP.match(text, at)
            if step is None:
                break
            name, single, double, index = step.groups()
            steps.append(int(index) if index is not None else name or single or double or "")
            at = step.end()
        if not steps or at < len(text):
            raise RecipeError(
                f"dedupe.documents.key: {text!r}: give a path of names and indices, such as $.metadata.url or"
                " $.urls[0]; wildcards, filters and `..` are not supported"
            )
        return cls(text, tuple(steps))

    def find(self, row: Any) -> str | None:
        """The key of a document; None if there is no string.

        Args:
            row: the document, as JSON gave it.

        >>> KeyPath.parse("$.a[0]").find({"a": ["x"]}), KeyPath.parse("$.a.b").find({"a": ["x"]})
        ('x', None)
        """
        for step in self.steps:
            if isinstance(row, dict) and isinstance(step, str):
                row = row.get(step)
            elif isinstance(row, list) and isinstance(step, int) and step < len(row):
                row = row[step]
            else:
                return None
        return row if isinstance(row, str) else None
