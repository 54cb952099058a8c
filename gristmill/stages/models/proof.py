"""Proves labelled sets and models: the ledger, and each file that it names, from its bytes."""

from collections.abc import Iterator

from gristmill.errors import DataError, RecipeError
from gristmill.execution.finding import Finding, difference_in_words, unreadable_finding
from gristmill.execution.mend import REMOVE_STRAY, how_to_remake
from gristmill.execution.work import Say
from gristmill.formats.fasttext.layout import check_fasttext
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import LABELS, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.files import as_json, read_head
from gristmill.lake.ledger.folders.whole_folder import WRITING, is_being_written
from gristmill.lake.store.protocol import Store
from gristmill.stages.models.labels import read_labels
from gristmill.stages.models.ledger import (
    FolderLedger,
    find_folder_ledger,
    folder_fingerprint,
    read_file,
    strays,
)


def folder_findings(store: Store, asset: str, say: Say) -> Iterator[Finding]:
    """Findings on a labelled set or a model.

    Args:
        store: the lake.
        asset: its address.
        say: function that receives a note on what it was made from, if that has changed since: it stays valid.
    """
    path = ledger_of_asset(asset)
    try:
        ledger = find_folder_ledger(store, asset)
    except DataError as error:
        yield unreadable_finding(path, error)
        return
    if ledger is None:
        yield Finding(path, None, "there is no ledger")
        return
    if as_json(ledger) != store.read(path):
        yield Finding(path, None, "it is not canonical JSON")
    if ledger.fingerprint != folder_fingerprint(ledger.files, ledger.opened, folder=ledger.folder):
        yield Finding(path, None, "its fingerprint does not follow from the sha256 that it gives of its files")
    damaged = list(_damaged_file_findings(store, ledger))
    yield from damaged
    if is_being_written(store, asset):
        yield Finding(
            f"{asset}/{WRITING}", None, "a run is writing this folder, or was killed", how_to_remake(store, asset)
        )
    yield from (Finding(stray, None, "no ledger names this object", REMOVE_STRAY) for stray in strays(store, ledger))
    if not damaged:
        yield from _model_content_findings(store, ledger)
    for above, snapshot, fingerprint in ledger.inputs:
        if _current_input_fingerprint(store, above, snapshot) not in {None, fingerprint}:
            say(f"{asset}: {above} {f'({snapshot}) ' if snapshot else ''}has changed since it was made")


def _current_input_fingerprint(store: Store, asset: str, snapshot: str) -> str | None:
    """The fingerprint of an input today; None if it is not there, or not valid, which its own audit reports."""
    try:
        found = (
            find_folder_ledger(store, asset) if kind_of(asset) is LABELS else read_head(store, place(asset, snapshot))
        )
    except DataError:
        return None
    return found.fingerprint if found else None


def _damaged_file_findings(store: Store, ledger: FolderLedger) -> Iterator[Finding]:
    for name in sorted(ledger.files):
        try:
            read_file(store, ledger, name)
        except DataError as error:
            yield unreadable_finding(f"{ledger.asset}/{name}", error)


def _model_content_findings(store: Store, ledger: FolderLedger) -> Iterator[Finding]:
    """Findings on files that have their sha256, but are not what they should be."""
    path = f"{ledger.asset}/{ledger.opened[0]}"
    try:
        if kind_of(ledger.asset) is LABELS:
            count = len(read_labels(store, names_in_asset_address(ledger.asset)["labels"])[1])
            if count != ledger.facts.get("rows"):
                yield Finding(path, None, difference_in_words("its rows are", count, ledger.facts.get("rows")))
        elif "fasttext" in ledger.recipe.parameters:
            check_fasttext(store.read(path), path)
    except (DataError, RecipeError) as error:
        yield Finding(path, None, str(error))
