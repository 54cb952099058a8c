"""Puts a tokenizer into the lake: trained on named snapshots of a mix, or imported.

The same recipe and snapshots give the same bytes every time.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from tokenizers import Tokenizer as Trained
from tokenizers import decoders, models, pre_tokenizers, trainers

from gristmill.encoding.engines import panics_as_errors
from gristmill.encoding.reference import REFERENCE_FILE, ask_reference, dump_reference
from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import mix_asset, place, tokenizer_asset
from gristmill.lake.asset_kinds import TOKEN_CACHE
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import as_json, changes_in_words, read_ledger
from gristmill.lake.ledger.folders.whole_folder import is_whole, write_whole_folder
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.ledger.walk import ledger_folders
from gristmill.lake.rows.batches import TextRow
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.tokenization.files import (
    CONFIG,
    JINJA,
    JSON,
    OTHER_TEMPLATE,
    TokenizerLedger,
    brought_files,
    chat_template_in_files,
    has_other_template,
    ledger_path,
    read_reference,
    read_tokenizer,
    read_tokenizer_ledger,
    tokenizer_path,
)

Slices = Mapping[str, Sequence[str]]
"""Snapshots by stream."""


def tokenizer_recipe(tokenizer: Tokenizer, slices: Slices) -> Recipe:
    """The recipe of a tokenizer, for its ledger: everything that changes its files.

    Args:
        tokenizer: the declaration.
        slices: the snapshots it is trained on, by stream.
    """
    if tokenizer.training is None:
        parameters: dict[str, Any] = {"sha256": tokenizer.sha256}
    else:
        training = tokenizer.training
        parameters = {
            "mix": training.mix,
            "snapshots": _sort_snapshots_by_stream(slices),
            "vocabulary": training.vocabulary,
            "sample": training.sample,
            "special": list(training.special),
        }
    if tokenizer.chat_template is not None:
        parameters["chat_template"] = tokenizer.chat_template
    return Recipe(tokenizer.name, 1, {**parameters, "eos": tokenizer.eos, "bos": tokenizer.bos}, tokenizer.draft)


def _sort_snapshots_by_stream(slices: Slices) -> dict[str, list[str]]:
    return {stream: sorted(keys) for stream, keys in sorted(slices.items())}


def _declared_slices(tokenizer: Tokenizer) -> dict[str, list[str]] | UnsetType:
    return _sort_snapshots_by_stream(tokenizer.training.snapshots) if tokenizer.training else UNSET


def make_tokenizer(
    store: Store, tokenizer: Tokenizer, say: Say, slices: Slices | None = None
) -> tuple[TokenizerLedger, bool]:
    """Trains or imports a tokenizer. One that is in the lake already is kept.

    Args:
        store: the lake.
        tokenizer: the recipe.
        say: function that receives lines of progress.
        slices: snapshots by stream; None: those of the recipe.

    Returns:
        The tokenizer's ledger, and whether it was made now.

    Raises:
        RecipeError: the lake has another one of this name, not of a draft; or the imported file is not valid.
        DataError: a snapshot to train on is not in the lake, or there is no document to train on.
        Conflict: another run has written it since this one began. Superseded: a newer run writes it now.
    """
    chosen = slices or (tokenizer.training.snapshots if tokenizer.training else {})
    recipe = tokenizer_recipe(tokenizer, chosen)
    store.sweep()
    found = old = read_tokenizer_ledger(store, tokenizer.name)
    own = {name: sha256 for name, sha256 in (old.files if old else {}).items() if name != REFERENCE_FILE}
    if not is_whole(store, tokenizer_asset(tokenizer.name), own):
        old = None  # a run was killed while it wrote the files
    changes = _recipe_changes_in_words(store, tokenizer, recipe, old) if old else ""
    if old and not (changes and old.recipe.draft and tokenizer.draft):
        if changes:
            raise RecipeError(
                f"{tokenizer_asset(tokenizer.name)} is there already, and was made by another recipe: {changes};"
                " a tokenizer never changes: declare one of the next number"
            )
        _, data = read_tokenizer(store, tokenizer.name)
        if old.is_to_seal(recipe) or (slices and old.declared != _declared_slices(tokenizer)):  # protected, or chosen
            old = msgspec.structs.replace(old, recipe=recipe, declared=_declared_slices(tokenizer)).with_digest()
            _replace_tokenizer_ledger(store, tokenizer.name, found, old)
        return _add_reference_answers(store, tokenizer.name, old, data), False
    inputs: tuple[tuple[str, str, str], ...] = ()
    counts = {"documents": 0, "characters": 0}
    if tokenizer.training is None:
        brought = brought_files(store, tokenizer)
    else:
        inputs = _training_inputs(store, tokenizer.training, chosen)
        data, counts = _train_bpe(store, tokenizer, tokenizer.training, chosen, say)
        brought = {JSON: data}
    if old is None:
        _check_same(store, tokenizer.name, brought[JSON])
    return _write_tokenizer_files(store, tokenizer, recipe, brought, inputs, counts, found), True


def _recipe_changes_in_words(store: Store, tokenizer: Tokenizer, recipe: Recipe, old: TokenizerLedger) -> str:
    """What a recipe says otherwise than the ledger of the tokenizer in the lake, in words; empty: nothing."""
    if old.recipe.digest != recipe.digest:
        return changes_in_words(old.recipe, recipe)
    return OTHER_TEMPLATE if has_other_template(store, tokenizer, old) else ""


def _check_same(store: Store, name: str, data: bytes) -> None:
    """Protects a tokenizer whose ledger was lost: tokens that it made can be read only with the very same file.

    Raises:
        DataError: the new file is another one, and there are tokens that the file in the lake has made.
    """
    path = tokenizer_path(name)
    stored = store.read_tagged(path)
    if stored is None or stored[0] == data:
        return
    if any(next(iter(store.list(f)), None) for f in ledger_folders(store, TOKEN_CACHE, tokenizer=name)):
        raise DataError(
            f"{ledger_path(name)} is lost, and {path} would become another tokenizer, though token caches were made by"
            " it; restore the ledger from a copy, or declare a tokenizer of the next number"
        )


def _add_reference_answers(store: Store, name: str, old: TokenizerLedger, data: bytes) -> TokenizerLedger:
    """The ledger of a tokenizer in the lake.

    If the reference's answers are missing, changed or old, they are written again.
    """
    try:
        if read_reference(store, old) is not None:
            return old
    except DataError:
        pass  # the file is lost or changed; it is made again from the tokenizer
    facts = dump_reference(ask_reference(data))
    ledger = msgspec.structs.replace(old, files=old.files | {REFERENCE_FILE: hashlib.sha256(facts).hexdigest()})
    ledger = ledger.with_digest()
    _replace_tokenizer_ledger(store, name, old, ledger, {REFERENCE_FILE: facts})
    return ledger


def _replace_tokenizer_ledger(
    store: Store,
    name: str,
    old: TokenizerLedger | None,
    new: TokenizerLedger,
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Writes files of a tokenizer, and its new ledger over the old one."""
    write_whole_folder(
        store, tokenizer_asset(name), files, as_json(new), lambda: read_tokenizer_ledger(store, name) == old
    )


def _training_inputs(store: Store, training: Training, slices: Slices) -> tuple[tuple[str, str, str], ...]:
    """The fingerprints of the snapshots to train on."""
    inputs: list[tuple[str, str, str]] = []
    for stream, keys in sorted(slices.items()):
        for key in sorted(keys):
            ledger, _ = read_ledger(store, place(mix_asset(training.mix, stream), key))
            inputs.append((ledger.asset, ledger.snapshot, ledger.fingerprint))
    if not inputs:
        raise DataError(f"mix {training.mix!r}: no snapshot is named to train a tokenizer on")
    return tuple(inputs)


def _train_bpe(
    store: Store, tokenizer: Tokenizer, training: Training, slices: Slices, say: Say
) -> tuple[bytes, dict[str, int]]:
    """Trains a byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) with `tokenizers`.

    Returns:
        The bytes of tokenizer.json, and the number of documents and characters.
    """
    model = Trained(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    special = [token for token in (tokenizer.eos, tokenizer.bos, *training.special) if token]
    trainer = trainers.BpeTrainer(
        vocab_size=training.vocabulary,
        special_tokens=list(dict.fromkeys(special)),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    counts = {"documents": 0, "characters": 0}
    with panics_as_errors():
        model.train_from_iterator(_training_texts(store, training, slices, counts, say), trainer)
    if not counts["documents"]:
        raise DataError(f"mix {training.mix!r}: the named snapshots hold no document to train on")
    say(f"{counts['documents']} documents, {counts['characters'] / 1e6:.1f} M characters read, merges found")
    return model.to_str(pretty=True).encode(), counts


def _training_texts(
    store: Store, training: Training, slices: Slices, counts: dict[str, int], say: Say
) -> Iterator[str]:
    """The texts to train on, in order of stream, snapshot, shard and row. `counts` is updated."""
    for stream, keys in sorted(slices.items()):
        for key in sorted(keys):
            documents = place(mix_asset(training.mix, stream), key)
            _, shards = read_ledger(store, documents)
            for shard in shards:
                for _, rows in open_shard(store, documents, shard).rows(TextRow):
                    for row in rows:
                        if training.sample >= 1 or draw_fraction(row.pair) < training.sample:
                            counts["documents"] += 1
                            counts["characters"] += len(row.text)
                            yield row.text
            say(f"read {stream} {key}: {counts['documents']} documents so far")


def _write_tokenizer_files(
    store: Store,
    tokenizer: Tokenizer,
    recipe: Recipe,
    brought: Mapping[str, bytes],
    inputs: tuple[tuple[str, str, str], ...],
    counts: Mapping[str, int],
    old: TokenizerLedger | None,
) -> TokenizerLedger:
    """Writes the files in the form that Hugging Face reads, and the ledger last."""
    data = brought[JSON]
    template = tokenizer.chat_template or chat_template_in_files(brought.get(CONFIG), brought.get(JINJA))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": tokenizer.eos,
        "bos_token": tokenizer.bos,
        "chat_template": template,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1_000_000_000_000,
    }
    shown = json.dumps({k: v for k, v in config.items() if v is not None}, indent=2, sort_keys=True).encode()
    facts = ask_reference(data)
    files = {JSON: data, CONFIG: shown, REFERENCE_FILE: dump_reference(facts)}
    ledger = TokenizerLedger(
        schema=1,
        asset=tokenizer_asset(tokenizer.name),
        fingerprint=hashlib.sha256(data).hexdigest(),
        recipe=recipe,
        inputs=inputs,
        files={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        vocabulary=facts.size,
        documents=counts["documents"],
        characters=counts["characters"],
        declared=_declared_slices(tokenizer),
    ).with_digest()
    _replace_tokenizer_ledger(store, tokenizer.name, old, ledger, files)
    return ledger
