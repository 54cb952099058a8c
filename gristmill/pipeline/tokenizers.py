"""The state of a tokenizer in the lake: there, lost, damaged, or not as its recipe says."""

from typing import Literal, NamedTuple

from msgspec import UNSET

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.address import tokenizer_asset
from gristmill.lake.ledger.files import changed_fields
from gristmill.lake.ledger.folders.whole_folder import is_being_written
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.files import (
    OTHER_TEMPLATE,
    TokenizerLedger,
    brought_files,
    has_other_template,
    ledger_path,
    read_tokenizer,
    tokenizer_path,
)
from gristmill.stages.tokenization.training import tokenizer_recipe

UNSEALED = "its recipe is no draft any more: its ledger says so from now on, and its files stay"

KILLED = "a run that wrote it was killed"


class TokenizerState(NamedTuple):
    """What is known of a tokenizer before anything is made.

    Attributes:
        state: `finished`; `missing`: it has no ledger; `changed`: the recipe of a draft changed; `unsealed`: its recipe
            is no draft any more, and its ledger does not say so yet; `refused`: the recipe changed, or the file to
            import is not valid; `wrong`: one of its files in the lake is lost or damaged.
        why: reasons, for people.
    """

    state: Literal["finished", "missing", "changed", "unsealed", "refused", "wrong"]
    why: tuple[str, ...] = ()


def tokenizer_state(store: Store, tokenizer: Tokenizer) -> TokenizerState:
    """The state of a tokenizer: whether the lake has it, undamaged and of this recipe.

    Args:
        store: the lake.
        tokenizer: the recipe.

    Raises:
        StoreError: the lake does not answer.
    """
    try:
        recorded, _ = read_tokenizer(store, tokenizer.name)
    except (DataError, StoreError) as error:
        found = _diagnose_read_error(store, tokenizer, error)
        return TokenizerState("missing", (KILLED,)) if found.state == "wrong" and _is_left(store, tokenizer) else found
    if _is_left(store, tokenizer):
        return TokenizerState("missing", (KILLED,))
    try:
        return _compare_with_recipe(store, recorded, tokenizer)
    except (DataError, RecipeError) as error:
        return TokenizerState("wrong" if isinstance(error, DataError) else "refused", (str(error),))


def _is_left(store: Store, tokenizer: Tokenizer) -> bool:
    return is_being_written(store, tokenizer_asset(tokenizer.name))


def _diagnose_read_error(store: Store, tokenizer: Tokenizer, error: DataError | StoreError) -> TokenizerState:
    """Why a tokenizer cannot be read. A file of it that is not there is no sign that it was never made."""
    file, ledger = tokenizer_path(tokenizer.name), ledger_path(tokenizer.name)
    if store.head(ledger) is None:
        return _state_without_ledger(store, tokenizer)
    if store.head(file) is None:
        lost = f"{file}: lost, although {ledger} is there; restore the file, or remove the ledger and make it again"
        return TokenizerState("wrong", (f"{lost}: the same recipe and documents give the same bytes",))
    if isinstance(error, StoreError):
        raise error
    return TokenizerState("wrong", (str(error),))


def _compare_with_recipe(store: Store, recorded: TokenizerLedger, tokenizer: Tokenizer) -> TokenizerState:
    recipe = tokenizer_recipe(tokenizer, tokenizer.training.snapshots if tokenizer.training else {})
    # A run may choose the snapshots to train on. So they are a change only if the recipe named others before.
    chosen = recorded.declared in (UNSET, recipe.parameters.get("snapshots"))
    changed = [name for name in changed_fields(recorded.recipe, recipe) if name != "snapshots" or not chosen]
    words = f"the recipe changed: {', '.join(changed)}" if changed else ""
    if not words and has_other_template(store, tokenizer, recorded):
        words = OTHER_TEMPLATE
    if not words:
        return TokenizerState("unsealed", (UNSEALED,)) if recorded.is_to_seal(recipe) else TokenizerState("finished")
    if recorded.recipe.draft and tokenizer.draft:
        mend = f"`gristmill make LAKE {tokenizer_asset(tokenizer.name)}` makes it again"
        return TokenizerState("changed", (f"{words}; {mend}",))
    return TokenizerState("refused", (f"{words}; it was not made by a draft",))


def _state_without_ledger(store: Store, tokenizer: Tokenizer) -> TokenizerState:
    """The state of a tokenizer without a ledger. Its ledger is written last, so other files may be there."""
    why = "never made"
    if store.head(tokenizer_path(tokenizer.name)) is not None:
        why = (
            f"{ledger_path(tokenizer.name)} is not there, although tokenizer.json is: the ledger was lost, or the run"
            " that wrote it was stopped; it is made again, and must become the same tokenizer if tokens were made by it"
        )
    if tokenizer.training is None:
        try:
            brought_files(store, tokenizer)
        except RecipeError as error:
            return TokenizerState("refused", (str(error),))
    return TokenizerState("missing", (why,))
