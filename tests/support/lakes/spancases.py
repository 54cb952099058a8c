"""The worked cases of span edits, as docs/how-to/edit-spans.md has them."""

import re
from pathlib import Path
from typing import NamedTuple

from gristmill.recipes.edits.edit import Edit

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "edit-spans.md"
EDITS = (
    Edit(spans="pii-1__a", replacement="<A>"),
    Edit(spans="pii-1__b", replacement="<B>", least=0.5, below=0.9),
    Edit(spans="pii-1__d", replacement=""),
    Edit(spans="pii-1__m", mask="*"),
)
AN_ERROR = "an error"
_ROW = re.compile(
    r"^\| [^|`]*(?:`[a-z]+`)? ?\| `([^`]*)` \| `([^`]*)` \| `([^`]*)` \| (?:`([^`]*)`|no masks) \|$", re.MULTILINE
)
_SPAN = re.compile(r"([abdm])\[(\d+),(\d+)\)(?:@([\d.]+))?")


class SpanCase(NamedTuple):
    """A case: a text with spans by label, and the texts after our edits and after Dolma's; None: Dolma cannot."""

    text: str
    labels: dict[str, list[list[float]]]
    ours: str
    dolmas: str | None


def span_cases() -> list[SpanCase]:
    """All rows of the table."""
    found = []
    for text, spans, ours, dolmas in _ROW.findall(PAGE.read_text().partition("## Worked cases")[2]):
        labels: dict[str, list[list[float]]] = {}
        for label, start, end, score in _SPAN.findall(spans):
            labels.setdefault(label, []).append([int(start), int(end), float(score or 0.7)])
        found.append(SpanCase(text, labels, ours, dolmas or None))
    assert len(found) >= 20
    return found
