"""Tokenizing: the tokenizers on the shelf, and how a text becomes a row of ids."""

import hashlib
import json
from pathlib import Path

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import tokenizer_asset
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.reference import FACTS, TokenizerFacts, load_facts

TOKENIZING = 1
"""Version of the way we write token caches; the next number rebuilds all of them."""

JSON, CONFIG, JINJA = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
BROUGHT = (JSON, CONFIG, JINJA)
"""What of a tokenizer's folder is taken."""

IN_LAKE = "lake:"
"""What a path in the lake begins with, in a recipe."""

VALIDATION_SEED = 0x76616C  # "val": another draw than the mixes' samples
"""The seed of the draw that holds documents out for validation."""


class TokenizerLedger(msgspec.Struct, frozen=True):
    """What stands beside a tokenizer's files: written last.

    Attributes:
        schema: 1.
        asset: the address.
        fingerprint: sha256 of tokenizer.json.
        recipe: how it was made.
        inputs: fingerprints of what it was trained on: (asset, snapshot, fingerprint).
        files: sha256 by file name.
        vocabulary: entries.
        documents: documents it was trained on.
        characters: their characters.
    """

    schema: int
    asset: str
    fingerprint: str
    recipe: Recipe
    inputs: tuple[tuple[str, str, str], ...]
    files: dict[str, str]
    vocabulary: int
    documents: int = 0
    characters: int = 0


def tokenizer_path(name: str, file: str = "tokenizer.json") -> str:
    """Where a tokenizer's file lies."""
    return f"{tokenizer_asset(name)}/{file}"


def ledger_path(name: str) -> str:
    """Where a tokenizer's ledger lies."""
    return tokenizer_path(name, "ledger.json")


def read_tokenizer_ledger(store: Store, name: str) -> TokenizerLedger | None:
    """The ledger of a tokenizer, or None while there is none."""
    tagged = store.read_tagged(ledger_path(name))
    return msgspec.json.decode(tagged[0], type=TokenizerLedger) if tagged else None


def read_tokenizer(store: Store, name: str) -> tuple[TokenizerLedger, bytes]:
    """A tokenizer's ledger and its tokenizer.json.

    Raises:
        DataError: it is not there yet, or the file is not the one that the ledger names.
    """
    ledger = read_tokenizer_ledger(store, name)
    if ledger is None:
        raise DataError(f"{tokenizer_asset(name)}: not there yet; materialize it (it is trained on request only)")
    data = store.read(tokenizer_path(name))
    if hashlib.sha256(data).hexdigest() != ledger.fingerprint:
        raise DataError(
            f"{tokenizer_path(name)}: changed under its name: its sha256 is not the one in {ledger_path(name)};"
            " restore the file, or bring the other one as a tokenizer of the next number"
        )
    return ledger, data


def read_facts(store: Store, ledger: TokenizerLedger) -> TokenizerFacts | None:
    """What the reference says of a tokenizer in the lake; None where an earlier version of Gristmill put it there.

    Raises:
        DataError: the file is not the one that the ledger names.
    """
    if FACTS not in ledger.files:
        return None
    path = f"{ledger.asset}/{FACTS}"
    tagged = store.read_tagged(path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != ledger.files[FACTS]:
        raise DataError(f"{path}: lost or changed; materialize the tokenizer once more: the file is made again")
    return load_facts(tagged[0])


def read_template(store: Store, name: str) -> str | None:
    """The chat template that a tokenizer in the lake brings, or None.

    Raises:
        DataError: the tokenizer is not there yet, or one of its files changed under its name.
        RecipeError: its configuration has templates, but none that counts.
    """
    ledger, _ = read_tokenizer(store, name)
    contents: dict[str, bytes] = {}
    for file in (CONFIG, JINJA):
        if file in ledger.files:
            contents[file] = store.read(tokenizer_path(name, file))
            if hashlib.sha256(contents[file]).hexdigest() != ledger.files[file]:
                raise DataError(f"{tokenizer_path(name, file)}: changed under its name; restore the file")
    return template_in(contents.get(CONFIG), contents.get(JINJA))


def template_in(config: bytes | None, jinja: bytes | None) -> str | None:
    """The template that a tokenizer brings.

    Args:
        config: bytes of `tokenizer_config.json`, whose `chat_template` is a text, or a list of named ones of which
            `default` counts.
        jinja: bytes of `chat_template.jinja`, looked at if the configuration has none.

    Raises:
        RecipeError: the configuration is no JSON, or has templates but no default.
    """
    try:
        declared = json.loads(config).get("chat_template") if config else None
    except (ValueError, AttributeError) as error:
        raise RecipeError(f"tokenizer_config.json is no JSON object ({error}); mend it") from error
    if isinstance(declared, list):
        named = {str(entry.get("name")): entry.get("template") for entry in declared if isinstance(entry, dict)}
        declared = named.get("default")
        if not isinstance(declared, str):
            raise RecipeError(
                f"tokenizer_config.json has the chat templates {', '.join(sorted(named)) or 'of no name'}, but no"
                " default; give the format its chat_template"
            )
    if isinstance(declared, str):
        return declared
    return jinja.decode() if jinja is not None else None


def brought_files(store: Store, recipe: Tokenizer) -> dict[str, bytes]:
    """The files of a brought tokenizer: `tokenizer.json`, and what of the others lies beside it.

    Raises:
        RecipeError: there is no such file, or it is another one.
    """
    files = _files_in_lake(store, recipe) if (recipe.file or "").startswith(IN_LAKE) else _files_here(recipe)
    sha256 = hashlib.sha256(files[JSON]).hexdigest()
    if sha256 != recipe.sha256:
        raise RecipeError(
            f"tokenizer {recipe.name!r}: {recipe.file} has sha256 {sha256}, the recipe pins {recipe.sha256}"
        )
    return files


def _files_here(recipe: Tokenizer) -> dict[str, bytes]:
    path = Path(recipe.file or "")
    if path.is_dir():
        files = {name: (path / name).read_bytes() for name in BROUGHT if (path / name).is_file()}
    else:
        files = {JSON: path.read_bytes()} if path.is_file() else {}
    if JSON not in files:
        raise RecipeError(f"tokenizer {recipe.name!r}: no file {path / JSON if path.is_dir() else path}")
    return files


def _files_in_lake(store: Store, recipe: Tokenizer) -> dict[str, bytes]:
    path = (recipe.file or "").removeprefix(IN_LAKE).strip("/")
    whole = store.read_tagged(path) if path.endswith(".json") else None
    tagged = {JSON: whole} if whole else {name: store.read_tagged(f"{path}/{name}") for name in BROUGHT}
    files = {name: content[0] for name, content in tagged.items() if content is not None}
    if JSON not in files:
        raise RecipeError(f"tokenizer {recipe.name!r}: neither {path} nor {path}/{JSON} is in {store.url}")
    return files
