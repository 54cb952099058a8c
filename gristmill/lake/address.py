"""Every path in the lake, rendered and parsed here only (docs/lake.md).

An asset's address is the folder above its snapshots; it is the asset key in Dagster too.
A Place is one partition of one asset.
"""

import re

import msgspec

from gristmill.errors import DataError, RecipeError

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
ADOPTED_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
NUMBERED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[0-9]+")
VERSION = re.compile(r"v[0-9]+")
SNAPSHOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RESERVED = frozenset({"index", "ledgers", "raw"})
SPLITS = ("train", "validation")
SHARD_SUFFIX = ".jsonl.gz"
_ENDINGS = (".run", ".receipts", ".ids", ".shards")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|#%]")


def check_name(name: str, what: str) -> str:
    """The name, or a RecipeError that says what a name may look like."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise RecipeError(
            f"{what} {name!r}: a name is lower-case letters and digits in words joined by '-',"
            f" and none of {', '.join(sorted(RESERVED))}"
        )
    return name


def check_numbered(name: str, what: str) -> str:
    """A name whose last word is its number (`toxicity-1`), or a RecipeError."""
    check_name(name, what)
    if not NUMBERED.fullmatch(name):
        raise RecipeError(f"{what} {name!r}: the name must end in its number, as in {name}-1")
    return name


def snapshot_trouble(key: str) -> str | None:
    """What keeps a key from being a snapshot's, or None."""
    if not SNAPSHOT.fullmatch(key) or ".." in key:
        return "a snapshot is 1 to 100 letters, digits, '.', '_' or '-', begins with a letter or digit, has no '..'"
    if key.endswith(_ENDINGS):
        return f"a snapshot must not end in {', '.join(_ENDINGS)}: ledgers use these endings"
    return None


def check_snapshot(key: str) -> str:
    """The key, or a DataError that says what a snapshot's key may look like."""
    trouble = snapshot_trouble(key)
    if trouble:
        raise DataError(f"snapshot {key!r}: {trouble}; rename the folder of raw data")
    return key


def check_shard(name: str) -> str:
    """A shard's name (folders allowed), or a DataError that says what is wrong with it."""
    parts = name.split("/")
    if _UNSAFE.search(name) or any(not p or p.startswith(".") or len(p.encode()) > 200 for p in parts):
        raise DataError(
            f"shard {name!r}: each part of a shard's name is 1 to 200 bytes, begins with no '.',"
            ' and has no control character nor any of \\ : * ? " < > | # %; rename the raw object'
        )
    return name


class Place(msgspec.Struct, frozen=True):
    """One partition of one asset: where its shards, ledger and receipts lie.

    Attributes:
        asset: the asset's address, e.g. `sources/wiki/v0/documents`.
        snapshot: the partition key.
        ledger: path of the ledger's head.
    """

    asset: str
    snapshot: str
    ledger: str

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
        """The ledger's table: a row a shard."""
        return f"{self.stem}.shards.jsonl.gz"

    @property
    def run(self) -> str:
        """What the last run noted beside the ledger, outside every fingerprint."""
        return f"{self.stem}.run.json"

    @property
    def receipts(self) -> str:
        """The folder of receipts, with its closing slash; exists only while the partition is being made."""
        return f"{self.stem}.receipts/"

    @property
    def claim(self) -> str:
        """Which run is making this partition."""
        return f"{self.receipts}.claim"

    def shard(self, name: str) -> str:
        """Where a shard lies."""
        return f"{self.folder}{name}{SHARD_SUFFIX}"

    def receipt(self, name: str) -> str:
        """Where a shard's receipt is put."""
        return f"{self.receipts}{name}.json"

    def index(self, name: str) -> str:
        """Where a shard's id index lies: sorted 128-bit hashes of its (source, id) pairs."""
        return f"{self.stem}.ids/{name}.xxh128"

    def part_folder(self, split: str) -> str:
        """The folder of a token cache's parts, with its closing slash."""
        return f"{self.asset}/{split}/{self.snapshot}/"

    def quarantine(self, name: str) -> str:
        """Where a shard's refused rows lie (documents only)."""
        return f"{self.asset.removesuffix('/documents')}/quarantine/{self.snapshot}/{name}{SHARD_SUFFIX}"


def raw_asset(source: str) -> str:
    """The address of a source's raw snapshots."""
    return f"sources/{source}/raw"


def documents_asset(source: str, version: str) -> str:
    """The address of a dataset version's documents."""
    return f"sources/{source}/{version}/documents"


def attributes_asset(source: str, version: str, name: str) -> str:
    """The address of an attribute set of a dataset version."""
    return f"sources/{source}/{version}/attributes/{name}"


def attributes_beside(documents: Place, name: str) -> Place:
    """The partition of an attribute set that lies beside a partition of documents."""
    return place(f"{documents.asset.removesuffix('/documents')}/attributes/{name}", documents.snapshot)


def mix_asset(mix: str, stream: str) -> str:
    """The address of a mix's stream."""
    return f"mixes/{mix}/documents/{stream}"


def mix_index(mix: str) -> str:
    """The address of a mix's index."""
    return f"mixes/{mix}/index"


def tokenizer_asset(tokenizer: str) -> str:
    """The address of a tokenizer."""
    return f"tokenizers/{tokenizer}"


def cache_asset(mix: str, tokenizer: str, stream: str) -> str:
    """The address of a stream's token cache."""
    return f"token_caches/{mix}/{tokenizer}/{stream}"


def cache_index(mix: str, tokenizer: str) -> str:
    """The address of a token cache's index."""
    return f"token_caches/{mix}/{tokenizer}/index"


def cache_packing(mix: str, tokenizer: str) -> str:
    """The address of a token cache's packing plans."""
    return f"{cache_index(mix, tokenizer)}/packing"


def packing_stem(mix: str, tokenizer: str, stream: str, split: str, length: int) -> str:
    """Where the packing plan of a split lies, for examples of so many tokens; without its ending."""
    return f"{cache_packing(mix, tokenizer)}/{stream}-{split}-{length}"


def blocklist_path(name: str) -> str:
    """Where a blocklist lies."""
    return f"blocklists/{name}.jsonl"


def raw_folder(source: str, snapshot: str = "") -> str:
    """The folder of a source's raw snapshots, or of one of them, with its closing slash."""
    return f"{raw_asset(source)}/{snapshot}/" if snapshot else f"{raw_asset(source)}/"


def place(asset: str, snapshot: str) -> Place:
    """The place of a partition of an asset.

    Raises:
        RecipeError: the asset is of no kind that has partitions with ledgers.
        DataError: the snapshot's key is not one.
    """
    check_snapshot(snapshot)
    match asset.split("/"):
        case ["sources", source, version, "documents"]:
            ledger = f"sources/{source}/{version}/ledgers/documents/{snapshot}.json"
        case ["sources", source, version, "attributes", name]:
            ledger = f"sources/{source}/{version}/ledgers/attributes/{name}/{snapshot}.json"
        case ["mixes", mix, "documents", stream]:
            ledger = f"mixes/{mix}/ledgers/{stream}/{snapshot}.json"
        case ["token_caches", mix, tokenizer, stream]:
            ledger = f"token_caches/{mix}/{tokenizer}/ledgers/{stream}/{snapshot}.json"
        case _:
            raise RecipeError(f"{asset}: no asset of the lake has its snapshots there")
    return Place(asset=asset, snapshot=snapshot, ledger=ledger)


_LEDGERS = (
    (re.compile(r"sources/([^/]+)/(v[0-9]+)/ledgers/documents/([^/]+)\.json"), "sources/{}/{}/documents"),
    (
        re.compile(r"sources/([^/]+)/(v[0-9]+)/ledgers/attributes/([^/]+)/([^/]+)\.json"),
        "sources/{}/{}/attributes/{}",
    ),
    (re.compile(r"mixes/([^/]+)/ledgers/([^/]+)/([^/]+)\.json"), "mixes/{}/documents/{}"),
    (re.compile(r"token_caches/([^/]+)/([^/]+)/ledgers/([^/]+)/([^/]+)\.json"), "token_caches/{}/{}/{}"),
)


def place_of_ledger(path: str) -> Place | None:
    """The place whose ledger's head has this path, or None when the path is no head."""
    if path.endswith(".run.json"):
        return None
    for pattern, asset in _LEDGERS:
        found = pattern.fullmatch(path)
        if found:
            *names, snapshot = found.groups()
            return place(asset.format(*names), snapshot)
    return None
