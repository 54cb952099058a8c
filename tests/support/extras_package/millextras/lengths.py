"""Lengths: how many documents of a shard are how long."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gristmill.lake.rows.document import Document
from gristmill.recipes.rows_recipe import RowsRecipe
from gristmill.stages.packaged.kind import Row, RowsKind


@dataclass(frozen=True, kw_only=True)
class Lengths(RowsRecipe):
    """The recipe: width of a bar, in characters."""

    width: int = 100


class LengthsKind(RowsKind):
    """The kind: a row for each bar that has documents."""

    recipe = Lengths

    def rows(self, recipe: Lengths, documents: Iterable[Document]) -> list[Row]:
        bars = Counter(len(document.text) // recipe.width for document in documents)
        return [{"from": bar * recipe.width, "documents": bars[bar]} for bar in sorted(bars)]

    def counts(self, rows: Iterable[Row]) -> Mapping[str, int]:
        return {"documents": sum(row["documents"] for row in rows)}
