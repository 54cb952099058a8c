"""DueSets: what a tagger or a tokenizer makes due, in one line each: a new one may concern every source."""

from dataclasses import dataclass, field

from gristmill.lake.asset_kinds import ATTRIBUTES, EXPORT, TOKEN_CACHE, kind_of, names_in_asset_address
from gristmill.pipeline.dry_run import Prospect


@dataclass
class _Due:
    """What is due of one set, of one mix's tokens by one tokenizer, or of one export: sources or streams, snapshots."""

    parents: set[str] = field(default_factory=set)
    snapshots: set[tuple[str, str]] = field(default_factory=set)
    new: bool = True


class DueSets:
    """Collects what a dry run finds of attribute sets, token caches and exports."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], _Due] = {}

    def add(self, prospect: Prospect) -> None:
        """Counts a partition that would be made. A set is new if the lake has no shard of it yet."""
        kind, names = kind_of(prospect.asset), names_in_asset_address(prospect.asset)
        if kind is ATTRIBUTES:
            key, parent = ("set", names["set"], "source"), names["source"]
        elif kind is TOKEN_CACHE:
            key, parent = ("tokens", f"{names['mix']} by {names['tokenizer']}", "stream"), names["stream"]
        elif kind is EXPORT:
            key, parent = ("export", f"{names['mix']} as {names['export']}", "stream"), names["stream"]
        elif kind and kind.package:
            key, parent = (kind.name, names["recipe"], "source"), names["source"]
        else:
            return
        due = self._found.setdefault(key, _Due())
        other = any(not why.startswith(("never made", "after ", "for ")) for why in prospect.why)
        due.new &= not (prospect.state == "finished" or prospect.kept or other)
        if prospect.state in {"make", "follow"}:
            due.parents.add(parent)
            due.snapshots.add((parent, prospect.snapshot))

    def lines(self) -> list[str]:
        """One line for each set with something to make, such as `set loud-1: 2 sources, 9 snapshots, new`."""
        return [
            f"{what} {name}: {_counted_noun(len(due.parents), of)}, {_counted_noun(len(due.snapshots), 'snapshot')}"
            + (", new" if due.new else "")
            for (what, name, of), due in self._found.items()
            if due.snapshots
        ]


def _counted_noun(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
