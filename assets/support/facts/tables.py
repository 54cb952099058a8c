"""Tables and warnings in Dagster's metadata."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg


def metadata_table(rows: Sequence[Mapping[str, Any]]) -> dg.TableMetadataValue | str:
    """The rows as a table; "none" if there are no rows.

    Args:
        rows: values by column; all rows have the columns of the first.
    """
    if not rows:
        return "none"
    return dg.MetadataValue.table(
        records=[dg.TableRecord(dict(row)) for row in rows],
        schema=dg.TableSchema(columns=[dg.TableColumn(name, _type(value)) for name, value in rows[0].items()]),
    )


def warnings_metadata(warnings: Iterable[str]) -> dict[str, str]:
    """The warnings as metadata with the name `warnings`; without a warning, no metadata.

    Args:
        warnings: sentences for people.
    """
    told = "; ".join(warnings)
    return {"warnings": told} if told else {}


def _type(value: object) -> str:
    return "string" if isinstance(value, str) else "float" if isinstance(value, float) else "int"
