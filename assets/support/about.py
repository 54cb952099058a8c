"""What a source says about its data, as Dagster shows it: description and metadata of its assets."""

from collections.abc import Iterable
from typing import Any

import dagster as dg

from gristmill.recipes.selection import Selection
from gristmill.recipes.source import Source

UNDECLARED = "not declared"


def selection_in_words(selection: Selection) -> str:
    """The rules of a selection and its changes as lists in Markdown.

    Args:
        selection: a stream of a mix, or a revision of a source.
    """
    parts = []
    if selection.reasons_by_rule:
        rules = (f"- `{name}`: {because}" for name, because in selection.reasons_by_rule.items())
        parts.append("\n".join(["Drops rows by these rules:", "", *rules]))
    else:
        parts.append("No rule drops rows.")
    if selection.changes_in_words:
        parts.append("\n".join(["Changes rows:", "", *(f"- {change}" for change in selection.changes_in_words)]))
    return "\n\n".join(parts)


def description_of(source: Source, what: str) -> str:
    """The description of an asset of a source, in Markdown.

    Args:
        source: the recipe.
        what: about the asset: a sentence with its full stop, or Markdown.
    """
    licence = f"Licence: {source.licence or UNDECLARED}."
    lines = [what, licence] if "\n" in what else [f"{what} {licence}"]
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
    # A line of text: a table is eight times as large in what the code server sends, for each asset of each source.
    facts["changes"] = "; ".join(f"{version}: {words or UNDECLARED}" for version, words in source.history)
    return facts


def owners_of(sources: Iterable[Source]) -> list[str]:
    """The owners of sources, each once: they answer for what is made from several.

    Args:
        sources: the recipes.
    """
    return list(dict.fromkeys(owner for source in sources for owner in source.owners))
