"""The grinder of the kinds that installed packages add: a shard of rows for each shard of documents."""

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.attribute_output import AttributeOutput
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.document import Document
from gristmill.recipes.code.digest import check_worker
from gristmill.recipes.rows_recipe import recipe_class_of_kind
from gristmill.recipes.shelf import find_recipe, shelf_of_kind
from gristmill.stages.packaged.kind import code_of_rows, counts_of, encode_row_line, ledger_recipe, rows_kind


class RowsSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        documents: the partition that is read.
        name: name of the recipe.
    """

    documents: Place
    name: str


class RowsItem(msgspec.Struct, frozen=True):
    """One shard of documents, and what its rows are made from."""

    documents: Shard
    inputs: tuple[Input, ...]


class RowsGrinder(ShardGrinder[RowsSpec, RowsItem]):
    """Grinds the shards of one snapshot."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        kind = self._spec.place.kind
        self._kind = rows_kind(kind)
        self._recipe = find_recipe(shelf_of_kind(kind), recipe_class_of_kind(kind), self._shelves, self._spec.name)
        if ledger_recipe(kind, self._recipe).digest != self._spec.recipe:
            raise RecipeError(
                f"{kind.name} {self._spec.name!r}: this worker has another recipe than the run; update it"
            )
        check_worker(code_of_rows(kind, self._recipe), self._spec.code)

    def grind(self, item: Item, body: RowsItem) -> Outcome:
        output = AttributeOutput(self._store, self._spec, item.name, body.inputs, str)  # its rows have no ids
        return self.grind_shard(output, lambda: self._write_package_rows(body.documents, output))

    def _write_package_rows(self, shard: Shard, output: AttributeOutput) -> None:
        file = open_shard(self._store, self._spec.documents, shard)
        documents = (document for _, rows in file.rows(Document) for document in rows)
        rows = list(self._kind.rows(self._recipe, documents))
        for _ in documents:  # a kind may look at the first ones alone, and the digest is compared at the end
            pass
        for row in rows:
            output.write(encode_row_line(row, output.path))
        output.counts |= counts_of(self._spec.place.kind, rows, output.path)


grinder = RowsGrinder
