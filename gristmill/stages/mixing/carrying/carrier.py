"""Carrier: it moves the spans of rows of one version to the texts of the next version."""

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.errors import DataError
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.rows.attribute import Spans
from gristmill.lake.rows.label_values import Kind, declaration_of_label
from gristmill.recipes.edits.edit import Edit, Overlaps
from gristmill.stages.mixing.carrying.kept_parts import left_by_change, left_by_edits, move_spans
from gristmill.stages.mixing.edits.stretches import Marked, SpanOutside, apply_edits, edited_stretches

CARRIED = "spans carried"
TOUCHED = "spans dropped: touched by an edit"
CHANGED = "spans dropped: changed by a transform"
SCORES = "scores of documents, which are not carried"


class TextDiffers(DataError):  # noqa: N818 - named like MalformedRow
    """The text of the next version is not the one that the edits give. The caller names file and row."""


class CarrySpec(msgspec.Struct, frozen=True):
    """What is carried.

    Attributes:
        edits: the edits between both versions, as in their recipe.
        transforms: whether transforms follow the edits.
        overlaps: choice for spans that overlap, as for Selection.
        kinds: kinds of the set's labels, scores or spans, by their names or patterns; None: not declared.
    """

    edits: tuple[Mapping[str, object], ...]
    transforms: bool = False
    overlaps: Overlaps = "union"
    kinds: Mapping[str, Kind] | None = None


class Carrier:
    """Carries the labels of rows.

    Args:
        spec: description of what is carried.

    Attributes:
        edits: the edits.
        counts: number of labels that were carried and dropped, by name.
    """

    def __init__(self, spec: CarrySpec) -> None:
        self.edits = tuple(Edit.of(each) for each in spec.edits)
        self.counts: dict[str, int] = {}
        self._transforms, self._kinds, self._overlaps = spec.transforms, spec.kinds, spec.overlaps

    def carry_labels(
        self, before: str, after: str, marked: Sequence[Marked | None], labels: Mapping[str, Spans]
    ) -> dict[str, Spans]:
        """The labels of a row, with the offsets of its new text.

        Args:
            before: its text.
            after: its text in the next version.
            marked: its spans for each edit.
            labels: its labels. A label that is a score of the document is left out.

        Raises:
            SpanOutside: a span is not a part of the text.
            TextDiffers: the edits give another text than `after`.
        """
        found = edited_stretches(self.edits, marked, len(before), self._overlaps)
        edited = apply_edits(before, self.edits, found)
        if edited != after and not self._transforms:
            raise TextDiffers("its text is not the one that the edits of its recipe give")
        left = left_by_edits(self.edits, found, len(before))
        after_transforms = None if edited == after else left_by_change(edited, after)
        result: dict[str, Spans] = {}
        for name, spans in labels.items():
            for start, end, _ in spans:
                if not 0 <= start <= end <= len(before):
                    raise SpanOutside(f"{name} has a span [{start}, {end}), but the text has {len(before)} code points")
            if self._is_score(name, spans, len(before)):
                add_counts(self.counts, {SCORES: 1})
                continue
            by_edits = move_spans(spans, left)
            kept = by_edits if after_transforms is None else move_spans(by_edits, after_transforms)
            dropped = {TOUCHED: len(spans) - len(by_edits), CHANGED: len(by_edits) - len(kept), CARRIED: len(kept)}
            add_counts(self.counts, {what: number for what, number in dropped.items() if number})
            result[name] = kept
        return result

    def _is_score(self, name: str, spans: Spans, length: int) -> bool:
        """Whether a label is a score of the whole document. If its kind is not declared, its one span tells."""
        kind = declaration_of_label(name, self._kinds or {})
        if kind is not None:
            return kind == "score"
        return len(spans) == 1 and (spans[0][0], spans[0][1]) == (0, length)
