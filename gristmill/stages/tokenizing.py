"""Tokenizing: the tokenizers on the shelf, and how a text becomes a row of ids."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import check_name, check_numbered, tokenizer_asset
from gristmill.lake.ledger import Recipe
from gristmill.lake.store import Store

TOKENIZING = 1
"""Version of the way we write token caches; the next number rebuilds all of them."""

VALIDATION_SEED = 0x76616C  # "val": another draw than the mixes' samples
"""The seed of the draw that holds documents out for validation."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A byte-level BPE trained by the platform, on request, on named snapshots: new data never changes it.

    Attributes:
        mix: whose documents.
        snapshots: which snapshots of which of its streams; a request may name others.
        vocabulary: entries, special tokens and the 256 bytes among them.
        sample: share of the documents, drawn by a hash of (source, id).
        special: special tokens besides EOS, in order.
    """

    mix: str
    snapshots: Mapping[str, tuple[str, ...]]
    vocabulary: int = 16_384
    sample: float = 1.0
    special: tuple[str, ...] = ("<|pad|>",)


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """A tokenizer: trained here, or brought as a Hugging Face `tokenizer.json`.

    Attributes:
        name: ends in its number.
        eos: the end-of-sequence token, put behind every text; None: none.
        bos: the token put in front of every text; None: none.
        training: how it is trained here.
        file: the `tokenizer.json` that is brought instead: a path on the machine that imports it.
        sha256: of the brought file; checked.
        eos_style: `levanter` (the default there: text, a space, EOS, as one string) or `clean` (EOS as an id).
        long_strings: `levanter`, or `marin` (long texts are cut at white space before they are encoded).
        description: for people.
        draft: whether it may change under its name.
    """

    name: str
    eos: str | None = "<|endoftext|>"
    bos: str | None = None
    training: Training | None = None
    file: str | None = None
    sha256: str | None = None
    eos_style: Literal["levanter", "clean"] = "levanter"
    long_strings: Literal["levanter", "marin"] = "levanter"
    description: str = ""
    draft: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, or it is neither trained nor brought.
        """
        check_numbered(self.name, "tokenizer")
        if (self.training is None) == (self.file is None):
            raise RecipeError(f"tokenizer {self.name!r}: give either training= or file= (with sha256=)")
        if self.file is not None and not self.sha256:
            raise RecipeError(f"tokenizer {self.name!r}: a brought file is pinned: give its sha256")
        if self.training is not None:
            check_name(self.training.mix, "mix")


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
    found = store.read_tagged(ledger_path(name))
    return msgspec.json.decode(found[0], type=TokenizerLedger) if found else None


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


def brought_file(recipe: Tokenizer) -> bytes:
    """The bytes of a brought tokenizer.

    Raises:
        RecipeError: there is no such file, or it is another one.
    """
    path = Path(recipe.file or "")
    if not path.is_file():
        raise RecipeError(f"tokenizer {recipe.name!r}: no file {path}")
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != recipe.sha256:
        raise RecipeError(f"tokenizer {recipe.name!r}: {path} has sha256 {found}, the recipe pins {recipe.sha256}")
    return data
