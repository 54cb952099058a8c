"""What is finished beside a snapshot: a new snapshot is made as the others of its asset are, or not at all."""

from collections.abc import Collection
from contextlib import suppress

from gristmill.errors import DataError, OtherMaking
from gristmill.lake.address import Place, ledger_folder
from gristmill.lake.ledger.code import Code, check_same_code
from gristmill.lake.ledger.files import check_made_alike, list_ledgers, read_head, shares_source
from gristmill.lake.ledger.model import Ledger, Recipe, Upstream
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.protocol import Store


def check_beside(store: Store, place: Place, recipe: Recipe, inputs: Collection[Upstream], code: Code) -> None:
    """Checks that a snapshot that was never made would be made by the recipe and the code of the finished ones.

    The first and the last finished snapshot are asked, so that a long list costs no more than a short one.

    Args:
        store: the lake.
        place: the snapshot.
        recipe: the declared recipe.
        inputs: partitions that it would be made from; their fingerprints do not count.
        code: the code of the recipe.

    Raises:
        OtherMaking: a finished snapshot of the same asset is refused, as its recipe or code changed.
    """
    finished = [each for each in list_ledgers(store, ledger_folder(place.asset)) if each.asset == place.asset]
    for other in dict.fromkeys((*finished[:1], *finished[-1:])):
        head = _head_unless_damaged(store, other)
        if head is None or not shares_source(head, inputs):
            continue
        try:
            check_made_alike(head, recipe, inputs, other)
            codes = read_run_note(store, other).codes
            check_same_code(code, codes, other, draft=head.recipe.draft and recipe.draft)
        except OtherMaking as error:
            raise OtherMaking(
                f"{place.asset} ({place.snapshot}): not made beside a snapshot that is refused: {error}"
            ) from error


def _head_unless_damaged(store: Store, place: Place) -> Ledger | None:
    """The head of another snapshot; None if it is damaged, which is told of that snapshot alone."""
    with suppress(DataError):
        return read_head(store, place)
    return None
