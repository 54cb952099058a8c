"""Names and paths in the lake (docs/reference/lake.md). Only this module and `asset_kinds` make and parse paths.

The address of an asset is the folder above its snapshots: `sources/wiki/v0/documents`. It is also the asset key in
Dagster. A Place gives the paths of one partition of one asset. All paths are relative to the lake.
"""

import re

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.asset_kind import RESERVED, AssetKind, field_expression
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    BLOCKLIST,
    DOCUMENTS,
    EXPORT,
    EXPORT_INDEX,
    MIX,
    MIX_INDEX,
    PACKING,
    RAW,
    TOKEN_CACHE,
    TOKEN_CACHE_INDEX,
    TOKENIZER,
    kind_of,
    kinds_below,
    names_in_asset_address,
)

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""The name of a recipe: `starter-bpe`."""
ADOPTED_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
"""The name of an attribute set. Sets that were made elsewhere (adopted) may have `_` in their names."""
NUMBERED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[0-9]+")  # gopher-1
VERSION = re.compile(field_expression("version"))  # v0
SNAPSHOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""The key of a snapshot; why_no_snapshot has two more rules."""
SHARD_SUFFIX = ".jsonl.gz"
SPLITS = TOKEN_CACHE.splits
_LEDGER_ENDINGS = (".run", ".receipts", ".ids", ".shards", ".columns", ".examples")
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99})*+")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|#%]")


def check_name(name: str, what: str) -> str:
    """Checks the name of a recipe, and returns it unchanged.

    Args:
        name: the name of a source, mix, tokenizer or other recipe.
        what: the kind of recipe, for the error message.

    Returns:
        The name.

    Raises:
        RecipeError: the name is wrong. The message describes valid names.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        raise RecipeError(
            f"{what} {name!r}: a name is lower-case letters and digits in words joined by '-',"
            f" and none of {', '.join(sorted(RESERVED))}"
        )
    return name


def check_numbered(name: str, what: str) -> str:
    """Checks a name that must end in a number (`toxicity-1`), and returns it unchanged.

    Args:
        name: the name of a tagger or other numbered recipe.
        what: the kind of recipe, for the error message.

    Returns:
        The name.

    Raises:
        RecipeError: the name is wrong.
    """
    check_name(name, what)
    if not NUMBERED.fullmatch(name):
        raise RecipeError(f"{what} {name!r}: the name must end in its number, as in {name}-1")
    return name


def why_no_snapshot(key: str) -> str | None:
    """The reason why a key cannot be the key of a snapshot; None if it can."""
    if not SNAPSHOT.fullmatch(key) or ".." in key:
        return "a snapshot is 1 to 100 letters, digits, '.', '_' or '-', begins with a letter or digit, has no '..'"
    if key.endswith(_LEDGER_ENDINGS):
        return f"a snapshot must not end in {', '.join(_LEDGER_ENDINGS)}: ledgers use these endings"
    return None


def check_snapshot(key: str) -> str:
    """Checks the key of a snapshot, and returns it unchanged.

    Returns:
        The key.

    Raises:
        DataError: the key is wrong. The message describes valid keys.
    """
    reason = why_no_snapshot(key)
    if reason:
        raise DataError(f"snapshot {key!r}: {reason}; rename the folder of raw data")
    return key


def check_shard(name: str) -> str:
    """Checks the name of a shard, and returns it unchanged. A name may contain folders: `a/00`.

    Returns:
        The name.

    Raises:
        DataError: the name is wrong. The message describes valid names.
    """
    if _PLAIN.fullmatch(name):  # most names; a scan of a million raw objects checks each of them
        return name
    parts = name.split("/")
    if _UNSAFE.search(name) or any(not p or p.startswith(".") or len(p.encode()) > 200 for p in parts):
        raise DataError(
            f"shard {name!r}: each part of a shard's name is 1 to 200 bytes, begins with no '.',"
            ' and has no control character nor any of \\ : * ? " < > | # %; rename the raw object'
        )
    return name


class Place(msgspec.Struct, frozen=True):
    """One partition of one asset, with the paths of its shards, ledger and receipts. place() makes one.

    Attributes:
        asset: address of the asset, e.g. `sources/wiki/v0/documents`.
        snapshot: the partition key.
        ledger: path of the ledger's head; the names of the other files of the ledger begin with the same stem.
    """

    asset: str
    snapshot: str
    ledger: str

    @property
    def kind(self) -> AssetKind:
        """The kind of the asset: its row in the table of asset kinds.

        Raises:
            RecipeError: no kind of asset with partitions has this address.
        """
        return _kind_of_asset(self.asset)

    @property
    def folder(self) -> str:
        """The folder of the partition's shards, with its closing slash; for a token cache see part_folder()."""
        return f"{self.asset}/{self.snapshot}/"

    @property
    def ledger_stem(self) -> str:
        """The ledger's path without `.json`."""
        return self.ledger.removesuffix(".json")

    @property
    def table(self) -> str:
        """The path of the ledger's table, which has one row for each shard."""
        return f"{self.ledger_stem}.shards.jsonl.gz"

    @property
    def run(self) -> str:
        """The path of the note about the last run. No fingerprint includes it."""
        return f"{self.ledger_stem}.run.json"

    @property
    def receipts_folder(self) -> str:
        """The folder of receipts, with its closing slash. It exists only while the partition is being built."""
        return f"{self.ledger_stem}.receipts/"

    @property
    def claim_path(self) -> str:
        """The path of the claim: the object that names the run which may change this partition."""
        return f"{self.receipts_folder}.claim"

    def shard(self, name: str) -> str:
        """The path of a shard."""
        return f"{self.folder}{name}{SHARD_SUFFIX}"

    def receipt_path(self, name: str) -> str:
        """The path of a shard's receipt."""
        return f"{self.receipts_folder}{name}.json"

    def index(self, name: str) -> str:
        """The path of a shard's id index, which holds the sorted 128-bit hashes of its (source, id) pairs."""
        return f"{self.ledger_stem}.ids/{name}.xxh128"

    def part_folder(self, split: str) -> str:
        """The folder of all parts of one split (token caches only), with its closing slash."""
        return f"{self.asset}/{split}/{self.snapshot}/"

    def quarantine_path(self, name: str) -> str:
        """The path of the refused rows of a shard (documents only: other kinds have no quarantine)."""
        return f"{self.quarantine_folder}{name}{SHARD_SUFFIX}"

    @property
    def quarantine_folder(self) -> str:
        """The folder of the refused rows of all shards (documents only), with its closing slash."""
        return self.kind.quarantine.format(**names_in_asset_address(self.asset), snapshot=self.snapshot)

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders with objects of the partition, with their closing slashes; not the ledger's folder."""
        kind = self.kind
        folders = [self.part_folder(split) for split in kind.splits] or [self.folder]
        if kind.ids:
            folders.append(f"{self.ledger_stem}.ids/")
        if kind.quarantine:
            folders.append(self.quarantine_folder)
        return tuple(folders)


def raw_asset(source: str) -> str:
    """The address of a source's raw snapshots."""
    return RAW.at(source=source)


def documents_asset(source: str, version: str) -> str:
    """The address of a dataset version's documents."""
    return DOCUMENTS.at(source=source, version=version)


def attributes_asset(source: str, version: str, name: str) -> str:
    """The address of an attribute set of a dataset version."""
    return ATTRIBUTES.at(source=source, version=version, set=name)


def attributes_beside(documents: Place, name: str) -> Place:
    """The partition of an attribute set for the same dataset version and snapshot as a partition of documents.

    Args:
        documents: the partition of documents.
        name: the name of the attribute set.
    """
    return place(ATTRIBUTES.at(**names_in_asset_address(documents.asset), set=name), documents.snapshot)


def mix_asset(mix: str, stream: str) -> str:
    """The address of a mix's stream."""
    return MIX.at(mix=mix, stream=stream)


def mix_index(mix: str) -> str:
    """The address of a mix's index."""
    return MIX_INDEX.at(mix=mix)


def tokenizer_asset(tokenizer: str) -> str:
    """The address of a tokenizer."""
    return TOKENIZER.at(tokenizer=tokenizer)


def cache_asset(mix: str, tokenizer: str, stream: str) -> str:
    """The address of a stream's token cache."""
    return TOKEN_CACHE.at(mix=mix, tokenizer=tokenizer, stream=stream)


def cache_index(mix: str, tokenizer: str) -> str:
    """The address of a token cache's index."""
    return TOKEN_CACHE_INDEX.at(mix=mix, tokenizer=tokenizer)


def cache_packing(mix: str, tokenizer: str) -> str:
    """The address of a token cache's packing plans."""
    return PACKING.at(mix=mix, tokenizer=tokenizer)


def packing_stem(mix: str, tokenizer: str, stream: str, split: str, length: int) -> str:
    """The path of a packing plan, without its ending; `length` is the tokens in a training sequence."""
    return f"{cache_packing(mix, tokenizer)}/{stream}-{split}-{length}"


def export_asset(mix: str, export: str, stream: str) -> str:
    """The address of a stream's export."""
    return EXPORT.at(mix=mix, export=export, stream=stream)


def export_index(mix: str, export: str) -> str:
    """The address of an export's index."""
    return EXPORT_INDEX.at(mix=mix, export=export)


def blocklist_asset(name: str) -> str:
    """The address of a blocklist. It has no ledger; the ledgers of mixes name it as an input of their shards."""
    return BLOCKLIST.at(blocklist=name)


def blocklist_path(name: str) -> str:
    """The path of a blocklist's file."""
    return f"{blocklist_asset(name)}.jsonl"


def raw_folder(source: str, snapshot: str = "") -> str:
    """The folder of a source's raw snapshots, or of one snapshot, with its closing slash.

    >>> raw_folder("wiki"), raw_folder("wiki", "2024-12")
    ('sources/wiki/raw/', 'sources/wiki/raw/2024-12/')
    """
    return f"{raw_asset(source)}/{snapshot}/" if snapshot else f"{raw_asset(source)}/"


def _kind_of_asset(asset: str) -> AssetKind:
    kind = kind_of(asset)
    if kind is None or not kind.is_partitioned:
        raise RecipeError(f"{asset}: no asset of the lake has its snapshots there")
    return kind


def place(asset: str, snapshot: str) -> Place:
    """The Place of a partition.

    Args:
        asset: address of the asset.
        snapshot: the partition key.

    Raises:
        RecipeError: no kind of asset with partitions has this address.
        DataError: the key is wrong.

    >>> place("sources/wiki/v0/documents", "2024-12").ledger
    'sources/wiki/v0/ledgers/documents/2024-12.json'
    """
    check_snapshot(snapshot)
    ledger = _kind_of_asset(asset).ledger.format(**names_in_asset_address(asset), snapshot=snapshot)
    return Place(asset=asset, snapshot=snapshot, ledger=ledger)


def ledger_folder(asset: str) -> str:
    """The folder of the ledgers of all partitions of an asset, with its closing slash."""
    any_snapshot = "x"  # all ledgers of an asset are in one folder
    return place(asset, any_snapshot).ledger.rpartition("/")[0] + "/"


def place_of_ledger(path: str) -> Place | None:
    """The Place whose ledger's head has this path; None if this is not the path of a head."""
    if not path.endswith(".json") or path.endswith((".run.json", ".examples.json")):
        return None
    for kind in kinds_below(path):
        names = kind.names_of_ledger(path) if kind.is_partitioned else None
        if names is not None:
            snapshot = names.pop("snapshot")
            return place(kind.at(**names), snapshot)
    return None


def part_at(path: str) -> tuple[Place, str] | None:
    """The partition and the folder of the part that contains an object; None if the object is not in a part."""
    for kind in kinds_below(path):
        names = kind.names_of_part(path) if kind.immutable else None
        if names is not None:
            return place(names["asset"], names["snapshot"]), names["folder"]
    return None
