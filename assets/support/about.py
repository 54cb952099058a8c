"""What a source says about its data, as Dagster shows it: description and metadata of its assets."""

from typing import Any

import dagster as dg

from gristmill.recipes.source import Source

UNDECLARED = "not declared"


def description_of(source: Source, what: str) -> str:
    """The description of an asset of a source, in Markdown.

    Args:
        source: the recipe.
        what: one sentence about the asset, with its full stop.
    """
    lines = [f"{what} Licence: {source.licence or UNDECLARED}."]
    if source.terms:
        lines.append(f"Terms: {source.terms}")
    if source.homepage:
        lines.append(f"Home page: <{source.homepage}>")
    return "\n\n".join(lines)


def facts_about(source: Source) -> dict[str, Any]:
    """The metadata of every asset of a source's data: licence, terms, home page, and what each version changes."""
    facts: dict[str, Any] = {"licence": source.licence or UNDECLARED, "snapshots": source.snapshots}
    if source.terms:
        facts["terms"] = source.terms
    if source.homepage:
        facts["homepage"] = dg.MetadataValue.url(source.homepage)
    facts["changes"] = dg.MetadataValue.table(
        records=[
            dg.TableRecord({"version": version, "what changed, and why": words or UNDECLARED})
            for version, words in source.history
        ],
        schema=dg.TableSchema(
            columns=[dg.TableColumn(name, "string") for name in ("version", "what changed, and why")]
        ),
    )
    return facts
