"""The ledgers of labelled sets and models: each is a folder of files, with a ledger that is written last."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.asset_kinds import LABELS, MODEL, ledger_of_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json, changes_in_words
from gristmill.lake.ledger.folders.whole_folder import WRITING, write_whole_folder
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.ledger.schema import refuse_newer_schema
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model

Inputs = tuple[tuple[str, str, str], ...]
"""What something was made from: (asset, snapshot, fingerprint)."""


class FolderLedger(msgspec.Struct, frozen=True):
    """The ledger of a labelled set or a model. It is written after all other files.

    Attributes:
        schema: 1.
        asset: the address.
        fingerprint: fingerprint of the files that are read: the sha256 of the one file, else the digest of the names
            and sha256 of all of them.
        recipe: the recipe it was made from.
        inputs: sources of its content: assets with their fingerprints, or a file.
        files: hex sha256 of each file, by file name.
        opened: names of the files that are read: those of a labelled set by training, those of a model by taggers.
        folder: whether taggers get the folder of the opened files, and not the one file.
        facts: counts and measures, for people.
        digest: digest of all other fields.
    """

    schema: int
    asset: str
    fingerprint: str
    recipe: Recipe
    inputs: Inputs
    files: dict[str, str]
    opened: tuple[str, ...]
    folder: bool = False
    facts: dict[str, Any] = {}
    digest: str = ""

    def with_digest(self) -> "FolderLedger":
        """The same ledger with its digest."""
        fields = msgspec.to_builtins(msgspec.structs.replace(self, digest=""))
        return msgspec.structs.replace(self, digest=digest_of(fields))


def model_address(recipe: LabelledSet | Model) -> str:
    """The address of a labelled set or a model.

    >>> from gristmill.recipes.models.model import FastTextTraining
    >>> model_address(Model(name="rude-1", training=FastTextTraining(labels="insults", positive="rude")))
    'models/rude-1'
    """
    return MODEL.at(model=recipe.name) if isinstance(recipe, Model) else LABELS.at(labels=recipe.name)


def find_folder_ledger(store: Store, asset: str) -> FolderLedger | None:
    """The ledger of a labelled set or a model; None if the lake does not have it.

    Args:
        store: the lake.
        asset: its address.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the object is not such a ledger.
    """
    path = ledger_of_asset(asset)
    tagged = store.read_tagged(path)
    if tagged is None:
        return None
    refuse_newer_schema(tagged[0], path)
    ledger = decode_object(tagged[0], FolderLedger, path, "a ledger", f"remove it and make {asset} again")
    if ledger.asset != asset or ledger.with_digest() != ledger:
        raise DataError(f"{path}: was changed by hand; remove it and make {asset} again")
    return ledger


def read_folder(store: Store, asset: str) -> FolderLedger:
    """The ledger of a labelled set or a model.

    Raises:
        DataError: the lake does not have it, or its ledger is wrong.
    """
    ledger = find_folder_ledger(store, asset)
    if ledger is None:
        raise DataError(
            f"{asset}: not there yet; make it: `gristmill make LAKE {asset}`, or materialize {asset} in Dagster"
        )
    return ledger


def check_same_recipe(old: FolderLedger, recipe: Recipe) -> None:
    """Checks that something may be made again by a recipe.

    Raises:
        RecipeError: the recipe changed, and one of the two is not a draft.
    """
    if old.recipe.digest != recipe.digest and not (old.recipe.draft and recipe.draft):
        raise RecipeError(
            f"{old.asset} is there already, but its recipe changed: {changes_in_words(old.recipe, recipe)};"
            " declare the change under the next number, or mark drafts with draft=True from the start"
        )


def ledger_to_keep(store: Store, old: FolderLedger, recipe: Recipe) -> FolderLedger:
    """The ledger of a model that is kept. If its recipe is no draft any more, the ledger says so from now on.

    Args:
        store: the lake.
        old: the ledger in the lake.
        recipe: the declared recipe, of the same digest.
    """
    if not old.recipe.draft or recipe.draft:
        return old
    ledger = msgspec.structs.replace(old, recipe=recipe).with_digest()
    write_whole_folder(store, old.asset, {}, as_json(ledger), lambda: find_folder_ledger(store, old.asset) == old)
    return ledger


def write_folder(
    store: Store,
    asset: str,
    recipe: Recipe,
    inputs: Inputs,
    files: Mapping[str, bytes],
    opened: tuple[str, ...],
    facts: Mapping[str, Any],
    *,
    old: FolderLedger | None,
    folder: bool = False,
) -> FolderLedger:
    """Writes the files of a labelled set or a model, then its ledger. Files of an earlier one are removed last.

    Args:
        store: the lake.
        asset: the address.
        recipe: the recipe.
        inputs: sources of its content.
        files: bytes of each file, by name.
        opened: names of the files that are read, as in FolderLedger.
        facts: counts and measures for people, as in FolderLedger.
        old: the ledger that this run found when it began.
        folder: whether taggers get the folder of the opened files, as in FolderLedger.

    Returns:
        The ledger, as it was written.

    Raises:
        Conflict: another run has written the folder since this one began.
        Superseded: a newer run writes it now.
    """
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    ledger = FolderLedger(
        schema=1,
        asset=asset,
        fingerprint=folder_fingerprint(digests, opened, folder=folder),
        recipe=recipe,
        inputs=inputs,
        files=digests,
        opened=opened,
        folder=folder,
        facts=dict(facts),
    ).with_digest()
    data = as_json(ledger)
    write_whole_folder(
        store, asset, files, data, lambda: find_folder_ledger(store, asset) == old, lambda: strays(store, ledger)
    )
    return ledger


def folder_fingerprint(files: Mapping[str, str], opened: Sequence[str], *, folder: bool) -> str:
    """The fingerprint of a labelled set or a model; see FolderLedger.

    Args:
        files: sha256 by file name.
        opened: names of the files that are read.
        folder: whether taggers get a folder.
    """
    return digest_of(sorted((name, files[name]) for name in opened)) if folder else files[opened[0]]


def strays(store: Store, ledger: FolderLedger) -> Iterator[str]:
    """The paths of the objects in a folder that its ledger does not name."""
    folder = f"{ledger.asset}/"
    known = {ledger_of_asset(ledger.asset), f"{folder}{WRITING}"}
    for entry in store.list(folder):
        if entry.path not in known and entry.path.removeprefix(folder) not in ledger.files:
            yield entry.path


def read_file(store: Store, ledger: FolderLedger, name: str) -> bytes:
    """The bytes of a file that a ledger names, compared with its sha256.

    Raises:
        DataError: the file is lost, or has other bytes.
    """
    path = f"{ledger.asset}/{name}"
    tagged = store.read_tagged(path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != ledger.files[name]:
        wrong = "lost" if tagged is None else "its sha256 is not the one of its ledger"
        raise DataError(f"{path}: {wrong}; restore it, or remove {ledger.asset}/ and make it again")
    return tagged[0]
