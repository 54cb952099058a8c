"""Explaining: why a document does not stand in what was selected from its partition.

The rules are those in the ledger of what was selected; they are applied once more, to the one row and its attribute
rows. Blocklists are taken as they are now: a ledger has their digest, not their entries.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import Place, place
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.rules import Column, Rule
from gristmill.stages.mixing.grinder import SelectionSpec
from gristmill.stages.mixing.row_filter import BLOCKED, SAMPLED_OUT, Judge
from gristmill.tracing.rows import REMADE, Located, Standing, row_of, standing

_LONGEST = 80


class _OneRow:
    """The one row of a set that stands beside a document."""

    def __init__(self, found: Located) -> None:
        self.path = found.path
        self._line = found.line

    def take(self, count: int, beside: str) -> list[bytes]:  # noqa: ARG002 - see judging.Feed
        return [self._line] * count


def why_not(made: Standing, documents: Standing, found: Located) -> str:
    """Why a document is not in a slice or the next version.

    Args:
        made: what was selected.
        documents: what it was selected from.
        found: the document's row there.

    Raises:
        DataError: its attribute rows are not there, or are another document's; a value is of another type.
        RecipeError: a blocklist is not there any longer.
    """
    name = found.shard.name
    if name not in made.shards:
        return f"has no shard {name}: it is due to be made again"
    sets = dict(_sets(made))
    if not all(made.has_read(above, name) for above in (documents, *sets.values())):
        return REMADE
    chosen = msgspec.convert(made.head.recipe.parameters, SelectionSpec)
    blocklists = [read_blocklist(made.store, each) for each in chosen.blocklists]
    judge = _judge(made.store, documents.here, chosen, blocklists, {key: there.here for key, there in sets.items()})
    feeds = {key: _OneRow(row_of(there, name, found.row)) for key, there in sets.items()}
    judged = judge.judge(found.line + b"\n", feeds, found.path, found.row, {})
    verdict = int(judged.verdicts[0])
    if not verdict:
        return "its rules keep it now: a blocklist changed since, or the lake is not as it says (verify it)"
    values = {column: of_rows[0] for column, of_rows in judged.values.items()}
    return _said(judged.reasons[verdict - 1], found, chosen, blocklists, values)


def _sets(made: Standing) -> Iterator[tuple[str, Standing]]:
    """The attribute sets that a selection read, by name."""
    for each in made.head.inputs:
        if "/attributes/" in each.asset:
            here = place(each.asset, each.snapshot)
            there = standing(made.store, here)
            if there is None:
                raise DataError(f"{here.asset}: snapshot {here.snapshot} is not there any longer; materialize it")
            yield each.asset.rpartition("/")[2], there


def _judge(
    store: Store, documents: Place, chosen: SelectionSpec, blocklists: Sequence[Blocklist], sets: dict[str, Place]
) -> Judge:
    return Judge(
        store,
        documents,
        sets,
        columns=[Column(*column) for column in chosen.columns],
        include=[Rule(name, where, "in the ledger") for name, where in chosen.include],
        exclude=[Rule(name, where, "in the ledger") for name, where in chosen.exclude],
        blocklists=blocklists,
        rate=chosen.rate,
        seed=chosen.seed,
    )


def _said(
    reason: str, found: Located, chosen: SelectionSpec, blocklists: Sequence[Blocklist], values: Mapping[str, Any]
) -> str:
    """A reason in words: the counter's name in the ledger, and what is behind it."""
    if reason == SAMPLED_OUT:
        return f"{reason}: rate {chosen.rate:g}, seed {chosen.seed}"
    for blocklist in blocklists:
        if reason == BLOCKED.format(blocklist.name):
            return f"{reason}: {blocklist.reasons[found.pair]}"
    rules = dict(chosen.exclude) | {name: f"not ({where})" for name, where in chosen.include}
    where = rules[reason]
    named = [f"{column} is {_short(value)}" for column, value in values.items() if re.search(rf"\b{column}\b", where)]
    return f"dropped by rule {reason}: {where}{'; ' if named else ''}{', '.join(named)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
