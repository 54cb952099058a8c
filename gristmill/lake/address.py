"""Paths in the lake. Only this file writes and parses them, with the table of asset kinds (docs/lake.md).

The address of an asset is the folder above its snapshots. It is also the asset key in Dagster. A Place is one
partition of one asset.
"""

import re

import msgspec

from gristmill.errors import DataError, RecipeError
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
    RESERVED,
    TOKEN_CACHE,
    TOKEN_CACHE_INDEX,
    TOKENIZER,
    AssetKind,
    field_expression,
    kind_of,
    kinds_below,
    names_of,
)

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
ADOPTED_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
NUMBERED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[0-9]+")
VERSION = re.compile(field_expression("version"))
SNAPSHOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SHARD_SUFFIX = ".jsonl.gz"
SPLITS = TOKEN_CACHE.splits
_ENDINGS = (".run", ".receipts", ".ids", ".shards")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|#%]")


def check_name(name: str, what: str) -> str:
    """The name, unchanged.

    Args:
        name: of a source, mix, tokenizer or other recipe.
        what: kind of the named thing, for the message.

    Raises:
        RecipeError: the name is not valid. The message describes valid names.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        raise RecipeError(
            f"{what} {name!r}: a name is lower-case letters and digits in words joined by '-',"
            f" and none of {', '.join(sorted(RESERVED))}"
        )
    return name


def check_numbered(name: str, what: str) -> str:
    """The name, unchanged. Its last word must be its number (`toxicity-1`).

    Args:
        name: of a tagger or other numbered recipe.
        what: kind of the named thing, for the message.

    Raises:
        RecipeError: the name is not valid.
    """
    check_name(name, what)
    if not NUMBERED.fullmatch(name):
        raise RecipeError(f"{what} {name!r}: the name must end in its number, as in {name}-1")
    return name


def why_no_snapshot(key: str) -> str | None:
    """Why a key is not valid as the key of a snapshot; None if it is valid."""
    if not SNAPSHOT.fullmatch(key) or ".." in key:
        return "a snapshot is 1 to 100 letters, digits, '.', '_' or '-', begins with a letter or digit, has no '..'"
    if key.endswith(_ENDINGS):
        return f"a snapshot must not end in {', '.join(_ENDINGS)}: ledgers use these endings"
    return None


def check_snapshot(key: str) -> str:
    """The key of a snapshot, unchanged.

    Raises:
        DataError: the key is not valid. The message describes valid keys.
    """
    trouble = why_no_snapshot(key)
    if trouble:
        raise DataError(f"snapshot {key!r}: {trouble}; rename the folder of raw data")
    return key


def check_shard(name: str) -> str:
    """The name of a shard, unchanged; folders are allowed.

    Raises:
        DataError: the name is not valid. The message describes valid names.
    """
    parts = name.split("/")
    if _UNSAFE.search(name) or any(not p or p.startswith(".") or len(p.encode()) > 200 for p in parts):
        raise DataError(
            f"shard {name!r}: each part of a shard's name is 1 to 200 bytes, begins with no '.',"
            ' and has no control character nor any of \\ : * ? " < > | # %; rename the raw object'
        )
    return name


class Place(msgspec.Struct, frozen=True):
    """One partition of one asset, with the paths of its shards, ledger and receipts.

    Attributes:
        asset: address of the asset, e.g. `sources/wiki/v0/documents`.
        snapshot: the partition key.
        ledger: path of the ledger's head.
    """

    asset: str
    snapshot: str
    ledger: str

    @property
    def kind(self) -> AssetKind:
        """The row of the asset in the table of asset kinds.

        Raises:
            RecipeError: no kind has this address.
        """
        return _kind(self.asset)

    @property
    def folder(self) -> str:
        """The folder of the partition's shards, with its closing slash."""
        return f"{self.asset}/{self.snapshot}/"

    @property
    def stem(self) -> str:
        """The ledger's path without `.json`."""
        return self.ledger.removesuffix(".json")

    @property
    def table(self) -> str:
        """The path of the ledger's table, which has one row for each shard."""
        return f"{self.stem}.shards.jsonl.gz"

    @property
    def run(self) -> str:
        """The path of the last run's notes. No fingerprint includes them."""
        return f"{self.stem}.run.json"

    @property
    def receipts(self) -> str:
        """The folder of receipts, with its closing slash. It exists only while the partition is being built."""
        return f"{self.stem}.receipts/"

    @property
    def claim(self) -> str:
        """The path of the claim: the object that names the run which is building this partition."""
        return f"{self.receipts}.claim"

    def shard(self, name: str) -> str:
        """The path of a shard."""
        return f"{self.folder}{name}{SHARD_SUFFIX}"

    def receipt(self, name: str) -> str:
        """The path of a shard's receipt."""
        return f"{self.receipts}{name}.json"

    def index(self, name: str) -> str:
        """The path of a shard's id index, which holds the sorted 128-bit hashes of its (source, id) pairs."""
        return f"{self.stem}.ids/{name}.xxh128"

    def part_folder(self, split: str) -> str:
        """The folder of the parts of a split of a token cache, with its closing slash."""
        return f"{self.asset}/{split}/{self.snapshot}/"

    def quarantine(self, name: str) -> str:
        """The path of a shard's quarantine: its refused rows (documents only)."""
        return f"{self._quarantine}{name}{SHARD_SUFFIX}"

    @property
    def _quarantine(self) -> str:
        return self.kind.quarantine.format(**names_of(self.asset), snapshot=self.snapshot)

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders of the partition's objects, with their closing slashes; without the ledger's folder."""
        kind = self.kind
        folders = [self.part_folder(split) for split in kind.splits] or [self.folder]
        if kind.ids:
            folders.append(f"{self.stem}.ids/")
        if kind.quarantine:
            folders.append(self._quarantine)
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
    """The partition of an attribute set that belongs to a partition of documents.

    Args:
        documents: the partition of documents.
        name: of the attribute set.
    """
    return place(ATTRIBUTES.at(**names_of(documents.asset), set=name), documents.snapshot)


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
    """The path of the packing plan of a split, without its ending; `length` is that of the examples in tokens."""
    return f"{cache_packing(mix, tokenizer)}/{stream}-{split}-{length}"


def export_asset(mix: str, export: str, stream: str) -> str:
    """The address of a stream's export."""
    return EXPORT.at(mix=mix, export=export, stream=stream)


def export_index(mix: str, export: str) -> str:
    """The address of an export's index."""
    return EXPORT_INDEX.at(mix=mix, export=export)


def blocklist_asset(name: str) -> str:
    """The address of a blocklist, as ledgers name it among the inputs of a shard."""
    return BLOCKLIST.at(blocklist=name)


def blocklist_path(name: str) -> str:
    """The path of a blocklist."""
    return f"{blocklist_asset(name)}.jsonl"


def raw_folder(source: str, snapshot: str = "") -> str:
    """The folder of a source's raw snapshots, or of one snapshot, with its closing slash.

    >>> raw_folder("wiki"), raw_folder("wiki", "2024-12")
    ('sources/wiki/raw/', 'sources/wiki/raw/2024-12/')
    """
    return f"{raw_asset(source)}/{snapshot}/" if snapshot else f"{raw_asset(source)}/"


def _kind(asset: str) -> AssetKind:
    kind = kind_of(asset)
    if kind is None or not kind.partitioned:
        raise RecipeError(f"{asset}: no asset of the lake has its snapshots there")
    return kind


def place(asset: str, snapshot: str) -> Place:
    """The place of a partition.

    Args:
        asset: address of the asset.
        snapshot: the partition key.

    Raises:
        RecipeError: no kind of asset with partitions has this address.
        DataError: the key is not valid.

    >>> place("sources/wiki/v0/documents", "2024-12").ledger
    'sources/wiki/v0/ledgers/documents/2024-12.json'
    """
    check_snapshot(snapshot)
    ledger = _kind(asset).ledger.format(**names_of(asset), snapshot=snapshot)
    return Place(asset=asset, snapshot=snapshot, ledger=ledger)


def ledger_folder(asset: str) -> str:
    """The folder of the ledgers of all partitions of an asset, with its closing slash."""
    return place(asset, "x").ledger.rpartition("/")[0] + "/"


def place_of_ledger(path: str) -> Place | None:
    """The place whose ledger's head has this path; None if the path is not that of a head."""
    if not path.endswith(".json") or path.endswith(".run.json"):
        return None
    for kind in kinds_below(path):
        names = kind.names_of_ledger(path) if kind.partitioned else None
        if names is not None:
            snapshot = names.pop("snapshot")
            return place(kind.at(**names), snapshot)
    return None


def part_at(path: str) -> tuple[Place, str] | None:
    """The partition and the folder of the immutable part to which an object belongs; None if it belongs to no part."""
    for kind in kinds_below(path):
        names = kind.names_of_part(path) if kind.immutable else None
        if names is not None:
            return place(names["asset"], names["snapshot"]), names["folder"]
    return None
