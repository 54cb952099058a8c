"""The columns of what a step has made, for Dagster's pages: their meaning, and what they come from."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.support.keys import key_of
from gristmill.execution.step import Step
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, kind_of
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.selection import Selection, is_attribute, set_of_column
from gristmill.stages.mixing.step import MixingStep

FIELDS = {
    "id": ("string", "unique in the source, or in the snapshot if snapshots replace each other"),
    "text": ("string", "the text"),
    "source": ("string", "the source"),
    "added": ("string", "when the row was made"),
    "created": ("string", "when the document was written"),
    "metadata": ("object", "what else the source says of the document"),
}
"""The fields of documents: type and meaning."""

_TYPES = {"score": "score: a number", "spans": "spans: [start, end, score], ..."}


def column_facts(step: Step, address: str) -> dict[str, Any]:
    """The metadata of a materialization about its columns; empty for token caches and exports.

    Args:
        step: the step that made it.
        address: address of the asset.
    """
    labels = getattr(step, "labels", None)
    kind = kind_of(address)
    if kind is ATTRIBUTES:
        schema = label_schema(set_named(address), labels or ())
        return {"dagster/column_schema": schema} if labels else {}
    if isinstance(step, MixingStep):
        lineage = lineage_of(step.selection, step.reads)
        return {"dagster/column_schema": document_schema(), "dagster/column_lineage": lineage}
    return {"dagster/column_schema": document_schema()} if kind is DOCUMENTS else {}


def document_schema() -> dg.TableSchema:
    """The columns of documents."""
    columns = [dg.TableColumn(name, kind, description=meaning) for name, (kind, meaning) in FIELDS.items()]
    return dg.TableSchema(columns=columns)


def label_schema(name: str, labels: Sequence[Score | Spans]) -> dg.TableSchema:
    """The columns of an attribute set, as rules name them.

    Args:
        name: name of the set.
        labels: labels that its recipe declares.
    """
    return dg.TableSchema(columns=[_column(f"{name}__{label.name}", label) for label in labels])


def _column(name: str, label: Score | Spans) -> dg.TableColumn:
    bounds = [f"at least {label.low:g}"] if label.low is not None else []
    bounds += [f"at most {label.high:g}"] if label.high is not None else []
    constraints = dg.TableColumnConstraints(nullable=label.optional, other=bounds)
    return dg.TableColumn(name, _TYPES[label.kind], description=label.meaning_with_unit, constraints=constraints)


def lineage_of(selection: Selection, reads: Sequence[str]) -> dg.TableColumnLineage:
    """The origin of each field of the kept rows: the same field of the documents, and all columns that rules
    read.

    Args:
        selection: the rules.
        reads: addresses of the documents and attribute sets that are read.
    """
    sets = {set_named(address): key_of(address) for address in reads if kind_of(address) is ATTRIBUTES}
    documents = key_of(next(address for address in reads if kind_of(address) is DOCUMENTS))
    ruled = {
        (sets[set_of_column(column)], column.path)
        if is_attribute(column)
        else (documents, column.path.partition(".")[0])
        for column in selection.read_columns
        if not column.is_origin
    }
    return dg.TableColumnLineage(
        {
            field: [dg.TableColumnDep(key, name) for key, name in sorted({(documents, field), *ruled})]
            for field in FIELDS
        }
    )


def set_named(address: str) -> str:
    """The name of the attribute set at an address."""
    return (ATTRIBUTES.names(address) or {})["set"]
