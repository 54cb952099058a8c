"""Training: a tokenizer from named snapshots of a mix, or one that is brought; the same bytes every time."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from tokenizers import Tokenizer as Trained
from tokenizers import decoders, models, pre_tokenizers, trainers

from gristmill.errors import DataError, RecipeError, shorten
from gristmill.execution.work import Say
from gristmill.lake.address import mix_asset, place, tokenizer_asset
from gristmill.lake.ledger.files import dump, read_ledger
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.rows.batches import TextRow, read_rows
from gristmill.lake.rows.draw import fraction
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.tokenization.files import (
    CONFIG,
    JINJA,
    JSON,
    TokenizerLedger,
    brought_files,
    ledger_path,
    read_facts,
    read_tokenizer,
    read_tokenizer_ledger,
    template_in,
    tokenizer_path,
)
from gristmill.stages.tokenization.reference import FACTS, dump_facts, facts_of

Slices = Mapping[str, Sequence[str]]
"""Snapshots by stream."""


def recipe_of(tokenizer: Tokenizer, slices: Slices) -> Recipe:
    """What changes the tokenizer's files."""
    if tokenizer.training is None:
        parameters: dict[str, Any] = {"sha256": tokenizer.sha256}
    else:
        training = tokenizer.training
        parameters = {
            "mix": training.mix,
            "snapshots": {stream: sorted(keys) for stream, keys in sorted(slices.items())},
            "vocabulary": training.vocabulary,
            "sample": training.sample,
            "special": list(training.special),
        }
    if tokenizer.chat_template is not None:
        parameters["chat_template"] = tokenizer.chat_template
    return Recipe(tokenizer.name, 1, {**parameters, "eos": tokenizer.eos, "bos": tokenizer.bos}, tokenizer.draft)


def make_tokenizer(
    store: Store, tokenizer: Tokenizer, say: Say, slices: Slices | None = None
) -> tuple[TokenizerLedger, bool]:
    """Puts a tokenizer into the lake: trained, or brought; kept if it is there already.

    Args:
        store: the lake.
        tokenizer: the recipe.
        say: takes lines of progress.
        slices: other snapshots than the recipe's.

    Returns:
        Its ledger, and whether it was made now.

    Raises:
        RecipeError: another tokenizer has the name already.
        DataError: a snapshot it is to be trained on is not there.
    """
    chosen = slices or (tokenizer.training.snapshots if tokenizer.training else {})
    recipe = recipe_of(tokenizer, chosen)
    store.sweep()
    old = read_tokenizer_ledger(store, tokenizer.name)
    if old is not None and (old.recipe.digest == recipe.digest or not tokenizer.draft):
        if old.recipe.digest != recipe.digest:
            raise RecipeError(
                f"{tokenizer_asset(tokenizer.name)} is there already, made of {_short(old.recipe.parameters)}, not of"
                f" {_short(recipe.parameters)}; a tokenizer never changes: declare one of the next number"
            )
        _, data = read_tokenizer(store, tokenizer.name)
        return _with_facts(store, tokenizer.name, old, data), False
    inputs: tuple[tuple[str, str, str], ...] = ()
    counts = {"documents": 0, "characters": 0}
    if tokenizer.training is None:
        brought = brought_files(store, tokenizer)
    else:
        inputs = _inputs(store, tokenizer.training, chosen)
        data, counts = _train(store, tokenizer, tokenizer.training, chosen, say)
        brought = {JSON: data}
    return _write(store, tokenizer, recipe, brought, inputs, counts), True


def _with_facts(store: Store, name: str, old: TokenizerLedger, data: bytes) -> TokenizerLedger:
    """The ledger of a tokenizer that is there; what the reference says of it is written if it is missing or old."""
    try:
        if read_facts(store, old) is not None:
            return old
    except DataError:
        pass  # lost or changed: the same is made again, from the tokenizer itself
    facts = dump_facts(facts_of(data))
    store.put(tokenizer_path(name, FACTS), facts)
    ledger = msgspec.structs.replace(old, files=old.files | {FACTS: hashlib.sha256(facts).hexdigest()})
    store.put(ledger_path(name), dump(ledger))
    return ledger


def _short(value: object) -> str:
    return shorten(json.dumps(value, sort_keys=True), 200)


def _inputs(store: Store, training: Training, slices: Slices) -> tuple[tuple[str, str, str], ...]:
    inputs: list[tuple[str, str, str]] = []
    for stream, keys in sorted(slices.items()):
        for key in sorted(keys):
            ledger, _ = read_ledger(store, place(mix_asset(training.mix, stream), key))
            inputs.append((ledger.asset, ledger.snapshot, ledger.fingerprint))
    if not inputs:
        raise DataError(f"mix {training.mix!r}: no snapshot is named to train a tokenizer on")
    return tuple(inputs)


def _train(
    store: Store, tokenizer: Tokenizer, training: Training, slices: Slices, say: Say
) -> tuple[bytes, dict[str, int]]:
    """Byte-level BPE (Sennrich et al. 2016, on bytes as GPT-2 does), as `tokenizers` trains it."""
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
    model.train_from_iterator(_texts(store, training, slices, counts, say), trainer)
    if not counts["documents"]:
        raise DataError(f"mix {training.mix!r}: the named snapshots hold no document to train on")
    say(f"{counts['documents']} documents, {counts['characters'] / 1e6:.1f} M characters read, merges found")
    return model.to_str(pretty=True).encode(), counts


def _texts(store: Store, training: Training, slices: Slices, counts: dict[str, int], say: Say) -> Iterator[str]:
    for stream, keys in sorted(slices.items()):
        for key in sorted(keys):
            documents = place(mix_asset(training.mix, stream), key)
            _, shards = read_ledger(store, documents)
            for shard in shards:
                for _, rows in read_rows(store, documents.shard(shard.name), shard.sha256, TextRow):
                    for row in rows:
                        if training.sample >= 1 or fraction(row.pair) < training.sample:
                            counts["documents"] += 1
                            counts["characters"] += len(row.text)
                            yield row.text
            say(f"read {stream} {key}: {counts['documents']} documents so far")


def _write(
    store: Store,
    tokenizer: Tokenizer,
    recipe: Recipe,
    brought: Mapping[str, bytes],
    inputs: tuple[tuple[str, str, str], ...],
    counts: Mapping[str, int],
) -> TokenizerLedger:
    """The files as Hugging Face reads them; the ledger last."""
    data = brought[JSON]
    template = tokenizer.chat_template or template_in(brought.get(CONFIG), brought.get(JINJA))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": tokenizer.eos,
        "bos_token": tokenizer.bos,
        "chat_template": template,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1_000_000_000_000,
    }
    shown = json.dumps({k: v for k, v in config.items() if v is not None}, indent=2, sort_keys=True).encode()
    facts = facts_of(data)
    files = {JSON: data, CONFIG: shown, FACTS: dump_facts(facts)}
    for name, content in files.items():
        store.put(tokenizer_path(tokenizer.name, name), content)
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
    )
    store.put(ledger_path(tokenizer.name), dump(ledger))
    return ledger
