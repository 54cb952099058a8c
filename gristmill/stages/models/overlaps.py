"""Makes an index of evaluation sets from their documents in the lake, and the table of their items."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from gristmill.errors import DataError
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import MODEL
from gristmill.lake.store.protocol import Store
from gristmill.recipes.models.model import Model
from gristmill.recipes.models.overlaps import OverlapIndexing
from gristmill.stages.models.labels import drawn_documents, drawn_fingerprints
from gristmill.stages.models.ledger import FolderLedger, write_folder
from gristmill.text.overlaps.index import OverlapIndex

INDEX, ITEMS = "index.overlaps", "items.jsonl"


class EvaluationItem(msgspec.Struct, frozen=True):
    """A line of the table of items. Its number, from 1, is the score of spans.

    Attributes:
        set: name of the evaluation set.
        source: name of the document's source.
        id: id of the document.
    """

    set: str
    source: str
    id: str


def make_overlaps(
    store: Store, model: Model, indexing: OverlapIndexing, say: Say, old: FolderLedger | None
) -> FolderLedger:
    """Makes the index of a model, and writes it.

    Args:
        store: the lake.
        model: the recipe.
        indexing: options of the model.
        say: function that receives lines of progress.
        old: the ledger of the model, if the lake has one.

    Returns:
        The ledger of the index.

    Raises:
        DataError: documents are not in the lake, or there are none.
    """
    inputs = drawn_fingerprints(store, indexing.draws)
    items: list[EvaluationItem] = []

    def numbered() -> Iterator[tuple[str, int, str]]:
        for name, draws in indexing.sets.items():
            for row in (row for draw in draws for row in drawn_documents(store, draw)):
                items.append(EvaluationItem(name, row.source, row.id))
                yield name, len(items), row.text

    index = OverlapIndex.build(numbered(), indexing.length, indexing.least)
    counts = Counter(item.set for item in items)
    empty = [name for name in indexing.sets if not counts[name]]
    if empty:
        raise DataError(
            f"model {model.name!r}: evaluation set {empty[0]!r} has no document; mend its draws in the recipe"
        )
    facts = {
        name: {
            "items": counts[name],
            "n-grams": len(index.ngrams[name].items),
            "lines": len(index.lines[name].items),
            "items without an n-gram or a line": counts[name] - _findable_item_count(index, name),
        }
        for name in indexing.sets
    }
    table = b"".join(msgspec.json.encode(item) + b"\n" for item in items)
    files = {INDEX: index.to_bytes(), ITEMS: table}
    ledger = write_folder(store, MODEL.at(model=model.name), model.recipe, inputs, files, (INDEX,), facts, old=old)
    for name in indexing.sets:
        say(f"{ledger.asset}: {name}: {counts[name]:,} items, {len(index.ngrams[name].items):,} n-grams")
    return ledger


def _findable_item_count(index: OverlapIndex, name: str) -> int:
    """How many items a text can hit: those that are the first with an n-gram or a line."""
    return len({*index.ngrams[name].items.tolist(), *index.lines[name].items.tolist()})


def has_other_documents(store: Store, ledger: FolderLedger, indexing: OverlapIndexing) -> bool:
    """Whether the documents of the evaluation sets have changed since. Documents that are lost have not changed."""
    try:
        return drawn_fingerprints(store, indexing.draws) != ledger.inputs
    except DataError:
        return False
