"""The identifications of OSCAR's lines as spans of the text, and back.

Each line that has an identification is a span, in code points and without its line end. The span's label is that of the
identification, as OSCAR spells it, and its score is the probability. Lines are split at LF alone, one CR before it
belongs to the line end, and a final LF begins no line. Every line begins at another code point, so the spans tell which
line each of them is, and a line without a span is one whose identification is null.

Source: the schemas that gristmill.formats.oscar.schema names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gristmill.errors import DataError
from gristmill.formats.oscar.compose import KEPT, OSCAR, text_digest
from gristmill.lake.rows.document import Document, Span

COUNT: Final = "line_count"
"""The label with the number of identifications. No language is labelled so, because of the `_`."""
OTHER_LINES: Final = "other_lines"
"""The label of documents whose lines are not those that were identified."""

NULL: Final = -1
"""The number of identifications where the list is null."""

_LABEL, _PROB = "label", "prob"


def line_spans(text: str) -> list[tuple[int, int]]:
    r"""The begin and end of each line, in code points, without its line end.

    >>> line_spans("a\r\n\nb\u2028c\n"), line_spans("")
    ([(0, 1), (3, 3), (4, 7)], [])
    """
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        feed = text.find("\n", start)
        if feed < 0:
            spans.append((start, len(text)))
            break
        end = feed - 1 if feed > start and text[feed - 1] == "\r" else feed
        spans.append((start, end))
        start = feed + 1
    return spans


def identification_labels(document: Document) -> dict[str, float | list[Span] | None]:
    r"""The identifications of a document's lines as labels.

    Returns:
        `line_count`: the number of identifications; -1 if the list is null; it is missing if there is no list. For each
        language its spans. If the text was edited since it was read, or has another number of lines, only `line_count`
        and `other_lines`, which is 1.

    >>> identifications = [{"label": "en", "prob": 0.9}, None]
    >>> document = Document(
    ...     id="a", text="To be\n?", source="s", metadata={"oscar": {"sentence_identifications": identifications}})
    >>> identification_labels(document)
    {'line_count': 2.0, 'en': [Span(start=0, end=5, score=0.9)]}
    """
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    oscar = metadata.get(OSCAR)
    if not isinstance(oscar, dict) or "sentence_identifications" not in oscar:
        return {}
    identifications = oscar["sentence_identifications"]
    if not isinstance(identifications, list):
        return {COUNT: float(NULL)}
    labels: dict[str, float | list[Span] | None] = {COUNT: float(len(identifications))}
    lines = line_spans(document.text)
    kept = metadata.get(KEPT)
    digest = kept.get("text_xxh3") if isinstance(kept, dict) else None
    if len(lines) != len(identifications) or (digest is not None and digest != text_digest(document.text)):
        return labels | {OTHER_LINES: 1.0}
    found: dict[str, list[Span]] = {}
    for (start, end), each in zip(lines, identifications, strict=True):
        if each is not None:
            found.setdefault(each[_LABEL], []).append(Span(start, end, each[_PROB]))
    return labels | found


def identifications_of(text: str, labels: Mapping[str, Any]) -> list[dict[str, Any] | None] | None:
    r"""The list of identifications that labels were made from: the inverse of identification_labels().

    Args:
        text: text of the document.
        labels: labels of the document: `line_count` as a number or one span, and for each language its spans as
            triples.

    Returns:
        The list, or None if it is null.

    Raises:
        DataError: the labels have no `line_count`, so the document has no list; or its text was edited.

    >>> identifications_of("To be\n?", {"line_count": 2.0, "en": [(0, 5, 0.9)]})
    [{'label': 'en', 'prob': 0.9}, None]
    """
    if OTHER_LINES in labels:
        raise DataError(f"the text was edited ({OTHER_LINES}), so its lines have no identifications; compose nulls")
    if COUNT not in labels:
        raise DataError(f"no label {COUNT}: the document was read from no line of OSCAR; compose nulls")
    if _single_score(labels[COUNT]) == NULL:
        return None
    at = {
        start: {_LABEL: label, _PROB: prob}
        for label, spans in labels.items()
        if label != COUNT
        for start, _, prob in spans
    }
    return [at.get(start) for start, _ in line_spans(text)]


def _single_score(label: float | Sequence[Sequence[float]]) -> float:
    """A score, also as it is read again: one span."""
    return label if isinstance(label, int | float) else label[0][2]
