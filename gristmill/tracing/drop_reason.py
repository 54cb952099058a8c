"""The reason for which a selection has dropped a document.

The rules are those in the ledger of the selected partition. They are applied again, to the one row and its attribute
rows. Blocklists are read as they are now: a ledger has their digest, not their entries.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gristmill.errors import DataError, shorten
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import ATTRIBUTES, kind_of, names_of
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.recipes.selection import Selection, selection_of
from gristmill.stages.mixing.row_filter import BLOCKED, SAMPLED_OUT, RowFilter
from gristmill.tracing.rows import REMADE, Located, Standing, row_of, standing


class _OneRow:
    """The one row of a set that stands beside a document."""

    def __init__(self, row: Located) -> None:
        self.path = row.path
        self._line = row.line

    def take(self, count: int, beside: str) -> list[bytes]:  # noqa: ARG002 - see row_filter.AttributeFeed
        return [self._line] * count


def drop_reason(selected: Standing, documents: Standing, document: Located) -> str:
    """Why a document is not in a slice or the next version.

    Args:
        selected: the slice, or the next version.
        documents: what it was selected from.
        document: the document's row in them.

    Raises:
        DataError: its attribute rows are not there, or are another document's; a value is of another type.
        RecipeError: a blocklist is not there any longer.
    """
    name = document.shard.name
    if name not in selected.shards:
        return f"has no shard {name}: it is due to be made again"
    sets = dict(_sets(selected))
    if not all(selected.has_read(above, name) for above in (documents, *sets.values())):
        return REMADE
    selection = selection_of(selected.head.recipe.parameters)
    blocklists = [read_blocklist(selected.store, blocklist) for blocklist in selection.blocklists]
    row_filter = RowFilter(selected.store, documents.here, selection, blocklists)
    feeds = {key: _OneRow(row_of(attributes, name, document.row)) for key, attributes in sets.items()}
    block = row_filter.decide(document.line + b"\n", feeds, document.path, document.row, {})
    decision = int(block.decisions[0])
    if not decision:
        return "its rules keep it now: a blocklist changed since, or the lake is not as it says (verify it)"
    values = {column: of_rows[0] for column, of_rows in block.values.items()}
    return _in_words(block.reasons[decision - 1], document, selection, blocklists, values)


def _sets(selected: Standing) -> Iterator[tuple[str, Standing]]:
    """The attribute sets that a selection read, by name."""
    for upstream in selected.head.inputs:
        if kind_of(upstream.asset) is ATTRIBUTES:
            partition = place(upstream.asset, upstream.snapshot)
            attributes = standing(selected.store, partition)
            if attributes is None:
                raise DataError(
                    f"{partition.asset}: snapshot {partition.snapshot} is not there any longer; materialize it"
                )
            yield names_of(upstream.asset)["set"], attributes


def _in_words(
    reason: str, document: Located, selection: Selection, blocklists: Sequence[Blocklist], values: Mapping[str, Any]
) -> str:
    """A reason in words: the counter's name in the ledger, and what is behind it."""
    if reason == SAMPLED_OUT:
        return f"{reason}: rate {selection.rate:g}, seed {selection.seed}"
    for blocklist in blocklists:
        if reason == BLOCKED.format(blocklist.name):
            return f"{reason}: {blocklist.reasons[document.pair]}"
    rules = {rule.name: rule.where for rule in selection.exclude}
    rules |= {rule.name: f"not ({rule.where})" for rule in selection.include}
    where = rules[reason]
    named = [
        f"{column} is {shorten(repr(value))}" for column, value in values.items() if re.search(rf"\b{column}\b", where)
    ]
    return f"dropped by rule {reason}: {where}{'; ' if named else ''}{', '.join(named)}"
