"""The type of a kind of asset: patterns of its addresses and ledgers, and how names are found in paths."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

RESERVED = frozenset({"index", "ledgers", "raw"})

_NAME = rf"(?!(?:{'|'.join(sorted(RESERVED))})(?:/|\Z))[^/]+"
_FIELDS = {
    "version": "v[0-9]+(?:[._-][A-Za-z0-9]+)*",
    "snapshot": "[^/]+?",
    "part": "part-[^/]+",
    "split": "train|validation",
    "length": "[0-9]+",
    "plan": "[^/]+",
    "note": "run|examples",
    "rest": ".+",
}
"""What may stand in a pattern for a field; any other `{name}` is a name that is not reserved."""

LEDGERS = "/ledgers/"
_BESIDE = (".{note}.json", ".json", ".shards.jsonl.gz", ".ids/{rest}", ".columns/{rest}", ".receipts/{rest}")
"""How the paths of a partition's ledger end, behind the stem that they share."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AssetKind:
    """One row of the table.

    Attributes:
        name: name of the kind.
        address: pattern of its addresses; each `{...}` is one folder.
        ledger: pattern of the path of its ledger's head; empty if it has none. With `{snapshot}` in it the kind is
            partitioned, by the snapshots of the source that its documents come from.
        made_by: pattern of what `python -m gristmill make` takes to make it; empty if this command does not make it.
        closes: the kind whose partitions it closes: its ledger is an IndexLedger. None for other kinds.
        files: patterns of the objects that must have its ledger, where these are not all objects below the address.
        splits: folders between the address and the snapshot; empty if the snapshot follows the address directly.
        ids: whether an id index may exist beside the ledger.
        quarantine: pattern of the folder of refused rows; empty if no rows are refused.
        immutable: whether what a shard of its ledger names is a part: a folder with a digest in its name, never
            changed once written. `gc` removes the parts that no ledger, index or release names.
        checks: names of the blocking checks that a commit runs before it publishes.
        version_checks: names of those that only versions after v0 have: they compare with the version before.
        documents: whether its rows are documents, which an id index finds.
        product: whether trainers read its parts: a release pins them, and their audit makes each again from what its
            ledger says of the recipe. Of other partitioned kinds, the step alone makes a shard again.
        ordered: whether it keeps the order in which partitions are made. They name it as an input of their shards, but
            their heads do not: its content is not what they are made from.
        by_digest: whether an input of this kind names one digest of all of it, instead of a shard.
        whole: name that an input of this kind has in place of a shard's name. Its content is then the fingerprint.
        reads: way in which its inputs are named: `shards` with their contents; `tables`: a snapshot, and the digest of
            all its names and contents; or `digest`: one digest of all that was compared.
        area: part of the lake in which a takedown finds documents in it; empty if it holds none.
        layer: layer of the kind in the tags of Dagster's assets and runs; an index has that of the kind that it closes.
        package: name and version of the installed package that adds it; empty if it ships.
    """

    name: str
    address: str
    ledger: str = ""
    made_by: str = ""
    closes: "AssetKind | None" = None
    files: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    ids: bool = False
    quarantine: str = ""
    immutable: bool = False
    checks: tuple[str, ...] = ()
    version_checks: tuple[str, ...] = ()
    documents: bool = False
    product: bool = False
    ordered: bool = False
    by_digest: bool = False
    whole: str = ""
    reads: Literal["shards", "tables", "digest"] = "shards"
    area: str = ""
    layer: str = ""
    package: str = ""

    @property
    def is_partitioned(self) -> bool:
        """Whether it has snapshots with a ledger each."""
        return "{snapshot}" in self.ledger

    @property
    def top_folder(self) -> str:
        """The first folder of its addresses, with its closing slash."""
        return self.address.partition("/")[0] + "/"

    @property
    def ledger_folder_pattern(self) -> str:
        """The pattern of the folder that holds all ledgers of a partitioned asset, and maybe of its neighbours."""
        return self.ledger.partition(LEDGERS)[0] + LEDGERS

    def at(self, **names: str) -> str:
        """The address of these names."""
        return self.address.format(**names)

    def names(self, address: str) -> Mapping[str, str] | None:
        """The names in an address of this kind, by field; None if it is of another kind."""
        found = self._address_pattern.fullmatch(address)
        return found.groupdict() if found else None

    def names_of_ledger(self, path: str) -> dict[str, str] | None:
        """The names in the path of a ledger's head, with `snapshot` if the kind has snapshots; None for other paths."""
        found = self._ledger_pattern.fullmatch(path)
        return found.groupdict() if found else None

    def names_of_object(self, path: str) -> dict[str, str] | None:
        """The names in the path of an object that must have a ledger of this kind; None for other paths."""
        found = next((found for each in self._object_patterns if (found := each.fullmatch(path))), None)
        return found.groupdict() if found else None

    def names_of_part(self, path: str) -> dict[str, str] | None:
        """The fields `asset`, `snapshot`, `folder` of the part that contains an object; None if no part contains it."""
        found = self._part_pattern.fullmatch(path)
        return {field: found[field] for field in ("asset", "snapshot", "folder")} if found else None

    @cached_property
    def _address_pattern(self) -> re.Pattern[str]:
        return re.compile(pattern_as_regex(self.address))

    @cached_property
    def _ledger_pattern(self) -> re.Pattern[str]:
        return re.compile(pattern_as_regex(self.ledger))

    @cached_property
    def _object_patterns(self) -> tuple[re.Pattern[str], ...]:
        if not self.ledger:
            return ()
        patterns = list(self.files) or [f"{self.address}/{{rest}}"]
        if self.is_partitioned:
            split = "{split}/" if self.splits else ""
            patterns = [self.ledger.removesuffix(".json") + end for end in _BESIDE]
            patterns.append(f"{self.address}/{split}{{snapshot}}/{{rest}}")
            patterns += [f"{self.quarantine}{{rest}}"] if self.quarantine else []
        return tuple(re.compile(pattern_as_regex(pattern)) for pattern in patterns)

    @cached_property
    def _part_pattern(self) -> re.Pattern[str]:
        split = "{split}/" if self.splits else ""
        asset, rest = pattern_as_regex(self.address), pattern_as_regex(f"/{split}{{snapshot}}/{{part}}/")
        return re.compile(f"(?P<folder>(?P<asset>{asset}){rest}).+")


def pattern_as_regex(pattern: str) -> str:
    """A pattern as a regular expression; its fields are named groups."""
    return re.sub(r"\\{(\w+)\\}", lambda found: f"(?P<{found[1]}>{field_expression(found[1])})", re.escape(pattern))


def field_expression(field: str) -> str:
    """The regular expression for a field's values."""
    return _FIELDS.get(field, _NAME)
