"""The kinds of assets: one row for each, with all that tells it from the others (docs/reference/lake.md).

An asset's address is the folder above its snapshots; it is the asset key in Dagster too. A new kind of asset is one row
here, and the stage that makes it. Code elsewhere asks this table; it compares no folder names and splits no addresses.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from gristmill.lake.asset_kind import RESERVED, AssetKind
from gristmill.plugins import HOME, plugins_of_kind


def _unpartitioned_kind(name: str, address: str, **fields: Any) -> AssetKind:
    """A kind without partitions that keeps its ledger in its own folder."""
    return AssetKind(name=name, address=address, ledger=f"{address}/ledger.json", **fields)


def _dedupe_part_kind(name: str, folder: str, **fields: Any) -> AssetKind:
    """A kind of parts that a dedupe recipe makes, in a folder of the recipe."""
    ledger = f"dedupe/{{dedupe}}/ledgers/{folder}/{{snapshot}}.json"
    made_by, address = "dedupe/{dedupe}", f"dedupe/{{dedupe}}/{folder}"
    return AssetKind(name=name, address=address, ledger=ledger, made_by=made_by, immutable=True, **fields)


RAW = AssetKind(name="raw", address="sources/{source}/raw", layer="raw")
DOCUMENTS = AssetKind(
    name="documents",
    address="sources/{source}/{version}/documents",
    ledger="sources/{source}/{version}/ledgers/documents/{snapshot}.json",
    made_by="sources/{source}",
    ids=True,
    quarantine="sources/{source}/{version}/quarantine/{snapshot}/",
    checks=("ids_unique",),
    version_checks=("ids_stable",),
    documents=True,
    area="documents",
    layer="documents",
)
ATTRIBUTES = AssetKind(
    name="attributes",
    address="sources/{source}/{version}/attributes/{set}",
    ledger="sources/{source}/{version}/ledgers/attributes/{set}/{snapshot}.json",
    made_by="sources/{source}",
    ids=True,
    checks=("row_alignment",),
    area="attributes",
    layer="attributes",
)
BLOCKLIST = AssetKind(name="blocklist", address="blocklists/{blocklist}")
MIX = AssetKind(
    name="mix",
    address="mixes/{mix}/documents/{stream}",
    ledger="mixes/{mix}/ledgers/{stream}/{snapshot}.json",
    made_by="mixes/{mix}",
    ids=True,
    checks=("blocklist_respected",),
    documents=True,
    area="mixes",
    layer="mix",
)
MIX_INDEX = _unpartitioned_kind("mix index", "mixes/{mix}/index", made_by="mixes/{mix}", closes=MIX)
TOKENIZER = _unpartitioned_kind(
    "tokenizer", "tokenizers/{tokenizer}", by_digest=True, whole="tokenizer.json", layer="tokenizer"
)
LABELS = _unpartitioned_kind("labelled set", "labels/{labels}", made_by="labels/{labels}", layer="models")
MODEL = _unpartitioned_kind(
    "model", "models/{model}", made_by="models/{model}", by_digest=True, whole="model", layer="models"
)
FINGERPRINTS = _dedupe_part_kind(
    "fingerprints",
    "fingerprints/{source}",
    checks=("row_alignment",),
    by_digest=True,
    area="dedupe",
    layer="duplicates",
)
HASH_RUNS = _dedupe_part_kind("hash runs", "runs/{source}", by_digest=True)
VERDICTS = _dedupe_part_kind("verdicts", "verdicts", by_digest=True)
CLUSTERS = _dedupe_part_kind("clusters", "clusters", by_digest=True, reads="tables", area="dedupe")
MARKS = _dedupe_part_kind("marks", "marks/{source}", reads="digest", layer="duplicates")
RESOLUTION = _unpartitioned_kind(
    "resolution", "dedupe/{dedupe}/resolution", made_by="dedupe/{dedupe}", closes=MARKS, ordered=True
)
TOKEN_CACHE = AssetKind(
    name="token cache",
    address="token_caches/{mix}/{tokenizer}/{stream}",
    ledger="token_caches/{mix}/{tokenizer}/ledgers/{stream}/{snapshot}.json",
    made_by="mixes/{mix}",
    splits=("train", "validation"),
    immutable=True,
    checks=("cache_complete",),
    product=True,
    area="token caches",
    layer="tokens",
)
TOKEN_CACHE_INDEX = AssetKind(
    name="token cache index",
    address="token_caches/{mix}/{tokenizer}/index",
    ledger="token_caches/{mix}/{tokenizer}/index/ledger.json",
    made_by="mixes/{mix}",
    closes=TOKEN_CACHE,
    files=(
        "token_caches/{mix}/{tokenizer}/index/{rest}",
        "token_caches/{mix}/{tokenizer}/{stream}/{split}/shard_ledger.json",
    ),
)
CONSOLIDATED = _unpartitioned_kind(
    "consolidated copies", "token_caches/{mix}/{tokenizer}/index/consolidated", closes=TOKEN_CACHE
)
PACKING = AssetKind(
    name="packing plans",
    address="token_caches/{mix}/{tokenizer}/index/packing",
    ledger="token_caches/{mix}/{tokenizer}/index/packing/{length}.json",
    closes=TOKEN_CACHE,
    files=(
        "token_caches/{mix}/{tokenizer}/index/packing/{length}.json",
        "token_caches/{mix}/{tokenizer}/index/packing/{plan}-{length}.json",
        "token_caches/{mix}/{tokenizer}/index/packing/{plan}-{length}.npy",
    ),
)
EXPORT = AssetKind(
    name="export",
    address="exports/{mix}/{export}/{stream}",
    ledger="exports/{mix}/{export}/ledgers/{stream}/{snapshot}.json",
    made_by="mixes/{mix}",
    immutable=True,
    checks=("export_complete",),
    product=True,
    area="exports",
    layer="exports",
)
EXPORT_INDEX = _unpartitioned_kind("export index", "exports/{mix}/{export}/index", made_by="mixes/{mix}", closes=EXPORT)

_SHIPPED = (
    RAW, DOCUMENTS, ATTRIBUTES, BLOCKLIST, LABELS, MODEL, FINGERPRINTS, HASH_RUNS, VERDICTS, CLUSTERS,
    MARKS, RESOLUTION, MIX, MIX_INDEX, TOKENIZER, TOKEN_CACHE, TOKEN_CACHE_INDEX,
    CONSOLIDATED, PACKING, EXPORT, EXPORT_INDEX,
)  # fmt: skip

_TAKEN = {*RESERVED, "releases", "withdrawn", "taggers", "transforms", "dedupes", "watched-folders"}
_TAKEN |= {name for kind in _SHIPPED for name in (kind.name, kind.top_folder.rstrip("/"))}
"""Names that no package may give to a kind: those of other kinds, and of folders of lakes and shelves."""


def may_be_added(name: str) -> bool:
    """Whether a package may give a name to a kind. It is the first folder of what the kind makes.

    >>> may_be_added("text-lengths"), may_be_added("sources"), may_be_added("a/b")
    (True, False, False)
    """
    return name not in _TAKEN and re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) is not None


def _kinds_of_packages() -> Iterator[AssetKind]:
    """The kinds that installed packages add: shards of rows, in a folder of their own. No package is imported."""
    for each in plugins_of_kind("asset_kinds"):
        name = each.name
        if each.package != HOME and may_be_added(name):
            yield AssetKind(
                name=name,
                address=f"{name}/{{recipe}}/{{source}}",
                ledger=f"{name}/{{recipe}}/ledgers/{{source}}/{{snapshot}}.json",
                made_by=f"{name}/{{recipe}}",
                checks=("rows_proven",),
                area=name,
                layer=name,
                package=f"{each.package} {each.version}",
            )


PACKAGED = tuple({kind.name: kind for kind in _kinds_of_packages()}.values())
"""The kinds that installed packages add, by name. They stand behind those that ship, of which they may be made."""

KINDS = (*_SHIPPED, *PACKAGED)
"""In the order in which they are made, verified and reported. Kinds below one first folder follow each other."""

_TOPS = tuple(dict.fromkeys(kind.top_folder for kind in KINDS))
_BY_TOP = {top: tuple(kind for kind in KINDS if kind.top_folder == top) for top in _TOPS}

PARTITIONED = tuple(kind for kind in KINDS if kind.is_partitioned)
LEDGER_TOPS = tuple(top for top in _TOPS if any(kind.is_partitioned for kind in _BY_TOP[top]))
"""The first folders below which partitions have their ledgers."""

_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@lru_cache(maxsize=1 << 14)
def _parse_address(address: str) -> tuple[AssetKind | None, Mapping[str, str]]:
    for kind in kinds_below(address):
        names = kind.names(address)
        if names is not None:
            return kind, MappingProxyType(dict(names))
    return None, _NO_NAMES


def kinds_below(path: str) -> tuple[AssetKind, ...]:
    """The kinds whose addresses begin with the first folder of a path."""
    return _BY_TOP.get(path.partition("/")[0] + "/", ())


def kind_of(address: str) -> AssetKind | None:
    """The kind of an asset, or None if the address is of no kind."""
    return _parse_address(address)[0]


def is_product(address: str) -> bool:
    """Whether trainers read the parts of an asset."""
    return bool((kind := kind_of(address)) and kind.product)


def names_in_asset_address(address: str) -> Mapping[str, str]:
    """The names in an address by field, as `{"mix": "blend", "stream": "wiki"}`; empty if it is of no kind."""
    return _parse_address(address)[1]


def ledger_of_asset(address: str, **names: str) -> str:
    """The path of the ledger of an asset without partitions; `names`: fields of the path that the address has not."""
    kind, found = _parse_address(address)
    return kind.ledger.format(**found, **names) if kind else ""


def whole_asset_of(ledger: str) -> str | None:
    """The address of the asset without partitions whose ledger has this path; None for other paths."""
    for kind in reversed(kinds_below(ledger)):
        names = kind.names_of_ledger(ledger) if kind.ledger and not kind.is_partitioned else None
        if names is not None:
            return kind.at(**names)
    return None


def owner_of_object(path: str) -> tuple[AssetKind, Mapping[str, str]] | None:
    """The kind whose ledger an object belongs to, and the names in its path; None if the object needs no ledger."""
    for kind in reversed(kinds_below(path)):  # what lies inside the folder of another kind comes after it
        names = kind.names_of_object(path)
        if names is not None:
            return kind, names
    return None


def ledger_of_object(path: str) -> str | None:
    """The path of the ledger that must exist because this object exists; None if the object needs no ledger."""
    owner = owner_of_object(path)
    return owner[0].ledger.format(**owner[1]) if owner else None


def blocking_checks_of_asset(address: str) -> tuple[str, ...]:
    """The names of the blocking checks of an asset."""
    kind, names = _parse_address(address)
    if kind is None:
        return ()
    return kind.checks if names.get("version", "v0") == "v0" else kind.checks + kind.version_checks


def ledgers_folder(address: str) -> str:
    """The folder that holds all ledgers of a partitioned asset, and maybe of its neighbours; with its closing slash."""
    kind, names = _parse_address(address)
    return kind.ledger_folder_pattern.format(**names) if kind else ""


def kinds_made_from(kind: AssetKind) -> tuple[AssetKind, ...]:
    """The partitioned kinds that may be made from a kind: those below the same first folder, and all behind them."""
    first = KINDS.index(_BY_TOP[kind.top_folder][0])
    return tuple(each for each in KINDS[first:] if each.is_partitioned)


def version_rank(version: str) -> tuple[tuple[int, str], ...]:
    """The place of a dataset version in the order of versions: v1, v1_6, v2, v10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split("[._-]", version[1:]))


def report_rank(address: str) -> tuple[int, tuple[tuple[int, str], ...], str, int]:
    """The place of an asset in the order of reports: by its kind, v0 before v1.

    What an asset is made from comes before it, but for sets of labels of duplicates, which come before their marks.
    """
    kind, names = _parse_address(address)
    if kind is None:
        return len(_TOPS), (), address, 0
    first = next(iter(names.values()))
    return _TOPS.index(kind.top_folder), version_rank(names.get("version", "v0")), first, KINDS.index(kind)
