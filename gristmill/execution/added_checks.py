"""Checks that installed packages add to kinds of assets. A commit runs them beside its own, and audits do again."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from gristmill.errors import RecipeError, StoreError, failed_at, is_failure
from gristmill.execution.checks import Check, Verdict
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, EXPORT, MIX, PACKAGED, TOKEN_CACHE, kind_of
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.plugins import Door

LOOKED_AT = (DOCUMENTS, ATTRIBUTES, MIX, TOKEN_CACHE, EXPORT, *PACKAGED)
"""The kinds of assets to which a check may be added. What only a resolution reads is published without them."""

_OURS = frozenset({"result", "volume", "ids_unique_across"})
"""Names that Dagster's ops and assets have for something else, beside those of the steps' own checks."""


@dataclass(frozen=True, kw_only=True)
class AddedCheck:
    """A check that a package adds to kinds of assets. It is provisional: see docs/reference/compatibility.md.

    Attributes:
        name: name of the check, such as `no_empty_texts`.
        kinds: the kinds whose partitions it looks at; see LOOKED_AT.
        claim: claim of the check, in words for people.
        check: function that takes the lake, the partition and its table, and returns the verdict. It changes nothing in
            the lake.
        blocking: whether a partition that does not pass is not published. Else it is a warning.
    """

    name: str
    kinds: tuple[AssetKind, ...]
    claim: str
    check: Check
    blocking: bool = True

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name cannot be that of a check in Dagster, or a kind is not one of LOOKED_AT.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name) or self.name.endswith("_audit") or self.name in _OURS:
            raise RecipeError(f"check {self.name!r}: give another name, of small letters, digits and _")
        if not self.kinds or not set(self.kinds) <= {*LOOKED_AT}:
            known = ", ".join(kind.name for kind in LOOKED_AT)
            raise RecipeError(f"check {self.name!r}: kinds= takes kinds of assets, at least one of: {known}")

    def __call__(self, store: Store, place: Place, shards: Sequence[Shard]) -> Verdict:
        """The verdict on a partition. A check that fails has refused it.

        Raises:
            StoreError: the lake does not answer.
        """
        try:
            verdict: object = self.check(store, place, shards)
        except StoreError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            return self._failed_verdict(f"it failed: {failed_at(error, self.check)}")
        if not isinstance(verdict, Verdict):
            return self._failed_verdict(f"it returned {type(verdict).__name__}, and no Verdict")
        return replace(verdict, name=self.name, passed=bool(verdict.passed), blocks=self.blocking)

    def _failed_verdict(self, words: str) -> Verdict:
        plugin = next((str(each) for each in CHECKS.plugins if each.name == self.name), "the check")
        text = f"{plugin}: {words}; mend or uninstall it"
        return Verdict(self.name, passed=False, description=text)


CHECKS = Door[AddedCheck](
    "checks", "an AddedCheck of this name", lambda name, it: isinstance(it, AddedCheck) and it.name == name
)
"""The checks of installed packages. Those of Gristmill belong to its steps, which give them what they compare."""


def added_checks(asset: str, own: Collection[str] = ()) -> dict[str, AddedCheck]:
    """The checks that packages add to an asset, by name.

    Args:
        asset: address of the asset.
        own: names of the asset's own checks.

    Raises:
        RecipeError: a check cannot be loaded, so that nobody knows what it would refuse; or it has an own check's name.
    """
    kind = kind_of(asset)
    found = {each.name: each for each in map(CHECKS.open, CHECKS.plugins) if kind in each.kinds}
    for name in found.keys() & set(own):
        raise RecipeError(f"check {name!r}: {asset} has a check of this name; uninstall the package that adds another")
    return found


def added_findings(store: Store, place: Place, say: Say) -> Iterator[Finding]:
    """The findings of the checks that packages add to a partition. A check that only warns is a note.

    Raises:
        GristmillError: the ledger or a check cannot be read.
    """
    checks = added_checks(place.asset)
    ledger = find_head_and_table(store, place) if checks else None
    for name, check in checks.items() if ledger else ():
        verdict = check(store, place, ledger[1] if ledger else ())
        if not verdict.passed and verdict.blocks:
            yield Finding(
                place.ledger, None, f"{name}: {verdict.description}", "mend what it names, then make it again"
            )
        elif not verdict.passed:
            say(f"warning: {place.asset} ({place.snapshot}): {name}: {verdict.description}")
