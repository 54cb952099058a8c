"""The files of a tokenizer: where they are in the lake, and how they are read and imported."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from gristmill.encoding.reference import REFERENCE_FILE, TokenizerReference, load_answers
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import tokenizer_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.ledger.schema import refuse_newer_schema
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tokenizer import Tokenizer

TOKENIZING = 1
"""Version of the way we write token caches. Raising it rebuilds all of them."""

JSON, CONFIG, JINJA = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
BROUGHT = (JSON, CONFIG, JINJA)
"""The files of a tokenizer's folder that are imported."""

OTHER_TEMPLATE = "the folder that file= names has another chat template than the lake"

IN_LAKE = "lake:"
"""Prefix, in a recipe, of a path in the lake."""


class TokenizerLedger(msgspec.Struct, frozen=True):
    """The ledger of a tokenizer. It is written after all other files.

    Attributes:
        schema: 1.
        asset: the tokenizer's address.
        fingerprint: hex sha256 of tokenizer.json.
        recipe: the recipe it was made from.
        inputs: sources of its training: (asset, snapshot, fingerprint).
        files: hex sha256 of each file, by file name.
        vocabulary: number of entries, with added tokens.
        documents: number of documents it was trained on.
        characters: number of characters of these documents.
        declared: the snapshots that the recipe named, by stream, when it was trained: a run may choose others. Unset:
            it was not trained here, or by an earlier version, which did not record them.
        digest: digest of all other fields; "" in a ledger of Gristmill 0.1, which had no such field.
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
    declared: dict[str, list[str]] | UnsetType = UNSET
    digest: str = ""

    def with_digest(self) -> "TokenizerLedger":
        """The same ledger with its digest."""
        fields = msgspec.to_builtins(msgspec.structs.replace(self, digest=""))
        return msgspec.structs.replace(self, digest=digest_of(fields))

    def is_to_seal(self, recipe: Recipe) -> bool:
        """Whether the ledger still says that the tokenizer is a draft, though the recipe no longer does.

        Earlier versions took the mark out and left the digest as it was.

        Args:
            recipe: the declared recipe.
        """
        if recipe.draft or not self.digest:
            return self.recipe.draft and not recipe.draft
        draft = msgspec.structs.replace(self, recipe=msgspec.structs.replace(self.recipe, draft=True))
        return draft.with_digest().digest == self.digest


def tokenizer_path(name: str, file: str = "tokenizer.json") -> str:
    """The path of a tokenizer's file in the lake.

    Args:
        name: name of the tokenizer.
        file: name of the file.

    >>> tokenizer_path("starter-bpe-1")
    'tokenizers/starter-bpe-1/tokenizer.json'
    """
    return f"{tokenizer_asset(name)}/{file}"


def ledger_path(name: str) -> str:
    """The path of a tokenizer's ledger in the lake.

    >>> ledger_path("starter-bpe-1")
    'tokenizers/starter-bpe-1/ledger.json'
    """
    return tokenizer_path(name, "ledger.json")


def training_job(name: str) -> str:
    """The name of the job of Dagster that trains or imports a tokenizer.

    >>> training_job("starter-bpe-1")
    'starter_bpe_1_train'
    """
    return f"{re.sub('[^A-Za-z0-9]+', '_', name)}_train"


def read_tokenizer_ledger(store: Store, name: str) -> TokenizerLedger | None:
    """The ledger of a tokenizer, or None if it is not in the lake.

    Args:
        store: the lake.
        name: name of the tokenizer.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the object is not a tokenizer's ledger.
    """
    path = ledger_path(name)
    tagged = store.read_tagged(path)
    if tagged is None:
        return None
    refuse_newer_schema(tagged[0], path)
    mend = "remove it and make the tokenizer"
    return decode_object(tagged[0], TokenizerLedger, path, "a tokenizer's ledger", mend)


def read_tokenizer(store: Store, name: str) -> tuple[TokenizerLedger, bytes]:
    """A tokenizer's ledger and the bytes of its tokenizer.json.

    Args:
        store: the lake.
        name: name of the tokenizer.

    Raises:
        DataError: the tokenizer is not in the lake, or its file does not have the sha256 of the ledger.
    """
    ledger = read_tokenizer_ledger(store, name)
    if ledger is None:
        raise DataError(
            f"{tokenizer_asset(name)}: not there yet; make it: `gristmill make LAKE {tokenizer_asset(name)}`, or the"
            f" job `{training_job(name)}` in Dagster"
        )
    data = store.read(tokenizer_path(name))
    if hashlib.sha256(data).hexdigest() != ledger.fingerprint:
        raise DataError(
            f"{tokenizer_path(name)}: changed under its name: its sha256 is not the one in {ledger_path(name)};"
            " restore the file, or bring the other one as a tokenizer of the next number"
        )
    return ledger, data


def read_reference(store: Store, ledger: TokenizerLedger) -> TokenizerReference | None:
    """The reference's answers for a tokenizer; None if an earlier version of Gristmill put the tokenizer into the lake.

    Args:
        store: the lake.
        ledger: the tokenizer's ledger.

    Raises:
        DataError: the file does not have the sha256 of the ledger, or is lost.
    """
    if REFERENCE_FILE not in ledger.files:
        return None
    path = f"{ledger.asset}/{REFERENCE_FILE}"
    tagged = store.read_tagged(path)
    if tagged is None or hashlib.sha256(tagged[0]).hexdigest() != ledger.files[REFERENCE_FILE]:
        raise DataError(f"{path}: lost or changed; make the tokenizer once more: the file is made again")
    return load_answers(tagged[0])


def read_chat_template(store: Store, name: str) -> str | None:
    """The chat template of a tokenizer in the lake, or None if it has none.

    Args:
        store: the lake.
        name: name of the tokenizer.

    Raises:
        DataError: the tokenizer is not in the lake, or one of its files changed.
        RecipeError: its configuration has named templates, but no default.
    """
    return _read_stored_template(store, read_tokenizer(store, name)[0])


def _read_stored_template(store: Store, ledger: TokenizerLedger) -> str | None:
    contents: dict[str, bytes] = {}
    for file in (CONFIG, JINJA):
        if file in ledger.files:
            path = f"{ledger.asset}/{file}"
            contents[file] = store.read(path)
            if hashlib.sha256(contents[file]).hexdigest() != ledger.files[file]:
                raise DataError(f"{path}: changed under its name; restore the file")
    return chat_template_in_files(contents.get(CONFIG), contents.get(JINJA))


def has_other_template(store: Store, recipe: Tokenizer, ledger: TokenizerLedger) -> bool:
    """Whether the folder that a tokenizer was imported from has another chat template now than the lake.

    The recipe has the digest of `tokenizer.json` alone. A folder that is gone says nothing: the lake has its files.

    Args:
        store: the lake.
        recipe: the tokenizer's declaration.
        ledger: ledger of the tokenizer in the lake.

    Returns:
        False too for a tokenizer that was trained here, or whose recipe has the template.

    Raises:
        RecipeError: the folder's template cannot be read.
        DataError: a file of the tokenizer in the lake changed.
        StoreError: a file of the tokenizer in the lake is lost, or the lake does not answer.
    """
    if recipe.file is None or recipe.chat_template is not None:
        return False
    try:
        files = _read_tokenizer_files(store, recipe, (CONFIG, JINJA))
    except RecipeError:
        return False
    return chat_template_in_files(files.get(CONFIG), files.get(JINJA)) != _read_stored_template(store, ledger)


def chat_template_in_files(config: bytes | None, jinja: bytes | None) -> str | None:
    """The chat template in the files of a tokenizer, or None.

    Args:
        config: bytes of `tokenizer_config.json`. Its `chat_template` is a text, or a list of named templates, of which
            `default` is used.
        jinja: bytes of `chat_template.jinja`, used if the configuration has no template.

    Raises:
        RecipeError: the configuration is not a JSON object, or has named templates but no default; or the template is
            not UTF-8.

    >>> chat_template_in_files(b'{"chat_template": [{"name": "default", "template": "{{ messages }}"}]}', None)
    '{{ messages }}'
    """
    try:
        declared = json.loads(config).get("chat_template") if config else None
    except (ValueError, AttributeError) as error:
        raise RecipeError(f"tokenizer_config.json is not a JSON object ({error}); mend it") from error
    if isinstance(declared, list):
        named = {str(entry.get("name")): entry.get("template") for entry in declared if isinstance(entry, dict)}
        declared = named.get("default")
        if not isinstance(declared, str):
            raise RecipeError(
                f"tokenizer_config.json has named chat templates ({', '.join(sorted(named)) or 'none'}), but no"
                " default; give the format its chat_template"
            )
    if isinstance(declared, str):
        return declared
    try:
        return jinja.decode() if jinja is not None else None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{JINJA} is not UTF-8 ({error}); mend it") from error


def brought_files(store: Store, recipe: Tokenizer) -> dict[str, bytes]:
    """The files of an imported tokenizer: `tokenizer.json`, and those of the others that are in the same folder.

    Args:
        store: the lake.
        recipe: the tokenizer; its `file` says where the files are.

    Returns:
        Bytes by file name.

    Raises:
        RecipeError: there is no such file, or it does not have the sha256 of the recipe.
    """
    files = _read_tokenizer_files(store, recipe, BROUGHT)
    sha256 = hashlib.sha256(files[JSON]).hexdigest()
    if sha256 != recipe.sha256:
        raise RecipeError(
            f"tokenizer {recipe.name!r}: {recipe.file} has sha256 {sha256}, the recipe says {recipe.sha256};"
            " restore the file, or declare a tokenizer of the next number"
        )
    return files


def _read_tokenizer_files(store: Store, recipe: Tokenizer, names: Sequence[str]) -> dict[str, bytes]:
    """Those files of an imported tokenizer that are there, by name.

    Raises:
        RecipeError: its `tokenizer.json` is not there, or a file cannot be read.
    """
    path = recipe.file or ""
    try:
        return _files_in_lake(store, path, names) if path.startswith(IN_LAKE) else _read_local_files(path, names)
    except OSError as error:
        raise RecipeError(f"tokenizer {recipe.name!r}: {error}; mend file= of the recipe") from error


def _read_local_files(named: str, names: Sequence[str]) -> dict[str, bytes]:
    """The files from a path on this machine."""
    path = Path(named).expanduser().absolute()
    paths = {name: path / name for name in BROUGHT} if path.is_dir() else {JSON: path}
    if not paths[JSON].is_file():
        raise FileNotFoundError(f"no file {paths[JSON]}")
    return {name: path.read_bytes() for name, path in paths.items() if name in names and path.is_file()}


def _files_in_lake(store: Store, named: str, names: Sequence[str]) -> dict[str, bytes]:
    """The files from a path in the lake."""
    path = named.removeprefix(IN_LAKE).strip("/")
    alone = path.endswith(".json") and store.head(path) is not None
    paths = {JSON: path} if alone else {name: f"{path}/{name}" for name in BROUGHT}
    if store.head(paths[JSON]) is None:
        raise FileNotFoundError(f"neither {path} nor {path}/{JSON} is in {store.url}")
    return {name: store.read(each) for name, each in paths.items() if name in names and store.head(each) is not None}
