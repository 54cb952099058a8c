"""Explains why a selection dropped a document.

The rules come from the ledger of the selected partition. They are applied again, to this row and its attribute rows.
Blocklists are read in their current state, because a ledger has only their digest, not their entries.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gristmill.errors import DataError, shorten
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import ATTRIBUTES, kind_of, names_in_asset_address
from gristmill.lake.rows.blocklists.blocklist import Blocklist, read_blocklist
from gristmill.lake.store.json_object import read_free_form
from gristmill.recipes.drift.drop_reasons import BLOCKED, SAMPLED_OUT
from gristmill.recipes.selection import Selection, read_selection
from gristmill.recipes.sql.rule_tree import named_columns
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.row_filter import RowFilter
from gristmill.tracing.rows import REMADE, LocatedRow, Partition, find_partition, read_located_row


class _OneRow:
    """The attribute row of the one document, in the form of an attribute feed."""

    def __init__(self, row: LocatedRow) -> None:
        self.path = row.path
        self._line = row.line

    def next_rows(self, count: int, beside: str) -> list[bytes]:  # noqa: ARG002 - see row_filter.AttributeFeed
        return [self._line] * count


def drop_reason(selected: Partition, documents: Partition, document: LocatedRow, packages: Sequence[str] = ()) -> str:
    """Why a document is not in a mix's slice or in the next dataset version.

    Args:
        selected: the slice, or the next version.
        documents: the documents that it was selected from.
        document: the document's row there.
        packages: the packages whose shelves hold the transforms.

    Returns:
        The reason in words, for people.

    Raises:
        DataError: the document's attribute rows are missing or belong to another document, or a value has another type.
        RecipeError: a blocklist or a transform no longer exists.
    """
    name = document.shard.name
    if name not in selected.shards:
        return f"has no shard {name}: it is due to be rebuilt"
    sets = dict(_read_attribute_sets(selected))
    if not all(selected.has_read(upstream, name) for upstream in (documents, *sets.values())):
        return REMADE
    with read_free_form(selected.place.ledger):
        selection = read_selection(selected.head.recipe.parameters)
    blocklists = [read_blocklist(selected.store, blocklist) for blocklist in selection.blocklists]
    transforms = transforms_of_selection(selection.transforms, packages)
    row_filter = RowFilter(selected.store, documents.place, selection, blocklists, transforms)
    feeds = {key: _OneRow(read_located_row(attributes, name, document.row)) for key, attributes in sets.items()}
    block = row_filter.decide_block_rows(document.line + b"\n", feeds, document.path, document.row, {})
    decision = int(block.decisions[0])
    if not decision:
        return "the rules keep it now: a blocklist has changed since, or the lake is damaged (verify it)"
    values = {column: of_rows[0] for column, of_rows in block.values.items()}
    return _reason_in_words(block.reasons[decision - 1], document, selection, blocklists, values)


def _read_attribute_sets(selected: Partition) -> Iterator[tuple[str, Partition]]:
    """(name, partition) of each attribute set that a selection read."""
    for upstream in selected.head.inputs:
        if kind_of(upstream.asset) is ATTRIBUTES:
            partition = place(upstream.asset, upstream.snapshot)
            attributes = find_partition(selected.store, partition)
            if attributes is None:
                raise DataError(f"{partition.asset}: snapshot {partition.snapshot} no longer exists; make it")
            yield names_in_asset_address(upstream.asset)["set"], attributes


def _reason_in_words(
    reason: str, document: LocatedRow, selection: Selection, blocklists: Sequence[Blocklist], values: Mapping[str, Any]
) -> str:
    """A reason in words: the name of the ledger's counter, and the rate, the blocklist entry or the rule."""
    if reason == SAMPLED_OUT:
        return f"{reason}: rate {selection.rate:g}, seed {selection.seed}"
    for blocklist in blocklists:
        if reason == BLOCKED.format(blocklist.name):
            return f"{reason}: {blocklist.reasons[document.pair]}"
    rule = next((each for each in (*selection.include, *selection.exclude) if each.name == reason), None)
    if rule is None:  # a reason of edits or of a transform
        return reason
    where = f"not ({rule.where})" if rule in selection.include else rule.where
    read = named_columns(rule.where)
    named = [f"{column} is {shorten(repr(value))}" for column, value in values.items() if column in read]
    return f"dropped by rule {reason}: {where}{'; ' if named else ''}{', '.join(named)}"
