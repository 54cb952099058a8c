"""The source that a reader gives to documents: the name of its recipe, or else takedowns name documents in vain.

People ask for a document by the name of its recipe. If the reader writes another source into the rows, nothing of that
name is ever found, and a takedown takes nothing out.
"""

from itertools import islice

from gristmill.errors import RecipeError
from gristmill.lake.address import documents_asset, ledger_folder
from gristmill.lake.ledger.adopted import shard_file
from gristmill.lake.ledger.files import find_ledger, list_ledgers
from gristmill.lake.rows.batches import IdPair, read_rows
from gristmill.lake.store.protocol import Store
from gristmill.recipes.source import Source


def check_named(store: Store, source: Source) -> None:
    """Refuses a reader that gives documents another source than the name of its recipe.

    A lake whose documents have that source already keeps it: another one would be other documents.

    Args:
        store: the lake.
        source: the recipe.

    Raises:
        RecipeError: the reader differs, and the lake has no documents of this recipe with another source.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    if source.renames and _written(store, source.name) in {None, source.name}:
        reader = type(source.convert).__name__
        raise RecipeError(
            f"source {source.name!r}: its reader gives its documents another source: write"
            f" {reader}(source={source.name!r}) in place of {source.read_as!r}, so that takedown and trace find them by"
            " the name of the recipe"
        )


def _written(store: Store, name: str) -> str | None:
    """The source of the first document of a recipe in the lake; None if there is no document yet."""
    for there in list_ledgers(store, ledger_folder(documents_asset(name, "v0"))):
        ledger = find_ledger(store, there)
        shard = next((row for row in ledger[1] if row.rows), None) if ledger else None
        if shard is not None:
            for _, rows in islice(read_rows(*shard_file(store, there, shard), shard.sha256, IdPair), 1):
                return rows[0].source
    return None
