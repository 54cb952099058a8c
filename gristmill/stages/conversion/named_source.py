"""The source that a reader gives to documents: the name of its recipe, or else takedowns name documents in vain.

People ask for a document by the name of its recipe. If the reader writes another source into the rows, nothing of that
name is ever found, and a takedown takes nothing out.
"""

from gristmill.errors import RecipeError
from gristmill.lake.address import Place, documents_asset, ledger_folder
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import find_head_and_table, list_ledgers
from gristmill.lake.rows.batches import IdPair
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
    if source.renames and _first_written_source(store, source.name) in {None, source.name}:
        reader = type(source.convert).__name__
        raise RecipeError(
            f"source {source.name!r}: its reader gives its documents another source: write"
            f" {reader}(source={source.name!r}) in place of {source.read_as!r}, so that takedown and trace find them by"
            " the name of the recipe"
        )


def other_source_line(store: Store, documents: Place) -> str:
    """A line for people that says that documents have another source than the name of their recipe; empty if not.

    The first document tells. Empty if it has the name of the recipe, or if there is none.

    Args:
        store: the lake.
        documents: a finished partition of v0.

    Raises:
        DataError: the ledger or the shard is wrong.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    name, found = names_in_asset_address(documents.asset)["source"], _source_of_first_document(store, documents)
    if found in {None, name}:
        return ""
    return (
        f"{documents.asset}: documents have a source of their own, such as {found!r}; takedown and trace take that name"
    )


def _first_written_source(store: Store, name: str) -> str | None:
    """The source of the first document of a recipe in the lake; None if there is no document yet."""
    places = list_ledgers(store, ledger_folder(documents_asset(name, "v0")))
    return next((found for each in places if (found := _source_of_first_document(store, each)) is not None), None)


def _source_of_first_document(store: Store, documents: Place) -> str | None:
    """The source of the first document of a partition; None if it has none."""
    ledger = find_head_and_table(store, documents)
    shard = next((row for row in ledger[1] if row.rows), None) if ledger else None
    if shard is None:
        return None
    _, rows = next(iter(open_shard(store, documents, shard).rows(IdPair, verified=False)))
    return rows[0].source
