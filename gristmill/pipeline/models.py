"""Labelled sets and models: what they are made of, who needs them, and their state in the lake."""

from collections.abc import Iterator

from gristmill.errors import DataError, RecipeError
from gristmill.extras import why_missing
from gristmill.lake.address import documents_asset
from gristmill.lake.asset_kinds import LABELS, MODEL, kind_of, names_in_asset_address
from gristmill.lake.ledger.files import changed_fields
from gristmill.lake.ledger.folders.whole_folder import is_being_written
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.tokenizers import KILLED, UNSEALED, TokenizerState
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.stages.models.brought import brought_files
from gristmill.stages.models.labels import brought_label_file, drawn_inputs, why_due
from gristmill.stages.models.ledger import FolderLedger, find_folder_ledger, model_address
from gristmill.stages.models.overlaps import has_other_documents
from gristmill.stages.models.training import has_other_labels

KEPT = "a model that is no draft stays as it is, and so do the sets that it makes: take the next number"


def folder_recipe_of_address(catalogue: Catalogue, asset: str) -> LabelledSet | Model | None:
    """The recipe of a labelled set or a model, by its address; None if it is on no shelf, or of another kind."""
    kind, names = kind_of(asset), names_in_asset_address(asset)
    if kind is MODEL:
        return catalogue.models.get(names["model"])
    return catalogue.labels.get(names["labels"]) if kind is LABELS else None


def model_recipes(catalogue: Catalogue) -> list[Model | LabelledSet]:
    """The recipes of all models and labelled sets."""
    return [*catalogue.models.values(), *catalogue.labels.values()]


def inputs_of_folder(recipe: LabelledSet | Model) -> Iterator[tuple[str, str]]:
    """The addresses of what a labelled set or a model is made of, each with a snapshot; that of a labelled set is
    empty.
    """
    if isinstance(recipe, Model):
        if recipe.training is not None:
            yield LABELS.at(labels=recipe.training.labels), ""
        draws = recipe.overlaps.draws if recipe.overlaps else ()
    else:
        draws = [each for places in recipe.drawn.values() for each in places]
    for drawn in draws:
        yield from ((documents_asset(drawn.source, drawn.version), key) for key in drawn.snapshots)


def documents_drawn_for(catalogue: Catalogue, model: Model) -> Iterator[tuple[str, str]]:
    """The documents that a model, or its labels, are drawn from: addresses, each with a snapshot."""
    for above, key in inputs_of_folder(model):
        if key:
            yield above, key
        else:
            labelled = folder_recipe_of_address(catalogue, above)
            yield from inputs_of_folder(labelled) if labelled is not None else ()


def needed_model_addresses(catalogue: Catalogue) -> set[str]:
    """The addresses of the models that taggers read, and of the labelled sets that these are trained on."""
    models = {name for tagger in catalogue.taggers.values() for name in tagger.models}
    recipes = [catalogue.models[name] for name in models]
    return {
        address
        for recipe in recipes
        for address in (model_address(recipe), *(each for each, _ in inputs_of_folder(recipe)))
    }


def model_state(store: Store, recipe: LabelledSet | Model) -> TokenizerState:
    """The state of a labelled set or a model: whether the lake has it, whole and of this recipe.

    Args:
        store: the lake.
        recipe: the recipe.

    Raises:
        StoreError: the lake does not answer.
    """
    asset = model_address(recipe)
    try:
        ledger = find_folder_ledger(store, asset)
        if ledger is None:
            return _state_without_ledger(store, recipe)
        if is_being_written(store, asset):
            return TokenizerState("missing", (KILLED,))
        lost = next((name for name in ledger.files if store.head(f"{asset}/{name}") is None), None)
        if lost is not None:
            return TokenizerState("wrong", (f"{asset}/{lost}: lost; restore it, or remove {asset}/ and make it again",))
        return _compare_with_ledger(store, recipe, ledger)
    except DataError as error:
        return TokenizerState("wrong", (str(error),))


def _state_without_ledger(store: Store, recipe: LabelledSet | Model) -> TokenizerState:
    if recipe.file is not None:
        try:
            _ = brought_files(store, recipe) if isinstance(recipe, Model) else brought_label_file(store, recipe)
        except RecipeError as error:
            return TokenizerState("refused", (str(error),))
    why = why_missing(recipe.needs) if isinstance(recipe, Model) else ""
    return TokenizerState("refused", (why,)) if why else TokenizerState("missing", ("never made",))


def _compare_with_ledger(store: Store, recipe: LabelledSet | Model, ledger: FolderLedger) -> TokenizerState:
    """Whether the recipe is that of the ledger, and what it was made of is as it was."""
    mend = f"`gristmill make LAKE {ledger.asset}` makes it again"
    changed = changed_fields(ledger.recipe, recipe.recipe)
    if changed:
        words = f"the recipe changed: {', '.join(changed)}"
        if ledger.recipe.draft and recipe.recipe.draft:
            return TokenizerState("changed", (f"{words}; {mend}",))
        return TokenizerState("refused", (f"{words}; it was not made by a draft: take the next number",))
    if ledger.recipe.draft and not recipe.recipe.draft:
        return TokenizerState("unsealed", (UNSEALED,))
    if isinstance(recipe, Model):
        newer = _changed_inputs_in_words(store, recipe, ledger)
        if newer and recipe.draft:
            return TokenizerState("changed", (f"{newer}; {mend}",))
        return TokenizerState("finished", (f"{newer}; {KEPT}",) if newer else ())
    due = why_due(store, recipe, ledger)
    if due:
        return TokenizerState("changed", (f"{due}; {mend}",))
    if _is_drawn_anew(store, recipe, ledger):
        return TokenizerState("changed", (f"the documents that it is drawn from changed; {mend}",))
    return TokenizerState("finished")


def _changed_inputs_in_words(store: Store, model: Model, ledger: FolderLedger) -> str:
    """What a model was made of and has changed since, in words; empty: nothing."""
    if model.overlaps is not None:
        other = has_other_documents(store, ledger, model.overlaps)
        return "the documents of its evaluation sets changed" if other else ""
    return f"{ledger.inputs[0][0]} changed" if has_other_labels(store, ledger) else ""


def _is_drawn_anew(store: Store, recipe: LabelledSet, ledger: FolderLedger) -> bool:
    try:
        return drawn_inputs(store, recipe) != ledger.inputs
    except DataError:  # documents that are not there any more have not changed
        return False
