"""The estimate of a plan: bytes to read and write, new bytes, and CPU time, from what earlier runs have measured.

Each run note has what its grind took: CPU seconds, bytes read and bytes written. A partition is estimated by the notes
of its own asset, else by those of the same set or tokenizer elsewhere, else by those of the same kind of asset. Sets of
dedupe recipes read fingerprints and not documents, so they are kin of each other alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Annotated

import msgspec

from gristmill.execution.plan import plan_partition_changes, read_partition_state
from gristmill.execution.step import Step
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import kind_of, ledgers_folder, names_in_asset_address
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.targets import addresses_of_assets
from gristmill.recipes.catalogue import Catalogue

_NOTES = 20
"""Number of run notes of an asset that are read, the newest snapshots first."""

_Measured = Annotated[float, msgspec.Meta(ge=0)]


class _Spent(msgspec.Struct):
    """What a run note says that the grind of a partition took: see Tally.effort()."""

    cpu: _Measured = msgspec.field(name="cpu seconds")
    assets: Annotated[float, msgspec.Meta(ge=1)]
    read: _Measured = msgspec.field(name="bytes read")
    written: _Measured = msgspec.field(name="bytes written")
    length: _Measured = msgspec.field(name="length written")


Kin = tuple[str, ...]
"""What assets have in common, so that one may be estimated by another."""


@dataclass(frozen=True)
class Rate:
    """What grinding has taken, summed over run notes; divided by `read` it is a rate.

    Attributes:
        read: bytes that were read: raw files as they are stored, documents uncompressed, fingerprints as they are.
        written: bytes of the objects that were written.
        length: bytes of the rows that were written, uncompressed: what the next stage reads.
        cpu: CPU seconds.
    """

    read: float = 0.0
    written: float = 0.0
    length: float = 0.0
    cpu: float = 0.0

    def add_rate(self, other: "Rate") -> "Rate":
        """The sum of two."""
        return Rate(
            self.read + other.read, self.written + other.written, self.length + other.length, self.cpu + other.cpu
        )


@dataclass(frozen=True)
class Estimate:
    """The estimate of the partitions of one kind of asset.

    Attributes:
        kind: name of the kind.
        partitions: number of partitions that would be made.
        unmeasured: number of partitions that no run note tells anything about. They are not in the other numbers.
        read: bytes to read, in the unit of Rate. The documents of sets that are made together are read once.
        written: bytes to write.
        new: bytes by which the lake grows: objects that are replaced are taken off.
        cpu: CPU seconds.
        unknown: number of partitions whose inputs must be made first and have no known size; they are in no sum.
    """

    kind: str
    partitions: int = 0
    unmeasured: int = 0
    read: float = 0.0
    written: float = 0.0
    new: float = 0.0
    cpu: float = 0.0
    unknown: int = 0


class Estimator:
    """Estimates the steps of a plan, in their order.

    Args:
        store: the lake.
        catalogue: the recipes; the notes of their assets are read.
    """

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self._store = store
        self._assets, self._dedupes = list(addresses_of_assets(catalogue)), frozenset(catalogue.dedupes)
        self._rates: dict[Kin, Rate] | None = None
        self._lengths: dict[tuple[str, str], float | None] = {}
        self.estimates: dict[str, Estimate] = {}
        """By the name of the kind."""

    def total_estimate(self) -> Estimate:
        """The sum over all kinds."""
        return reduce(_add_estimates, self.estimates.values(), Estimate("total"))

    def add(self, step: Step, prospects: Sequence[Prospect]) -> None:
        """Adds those partitions of a step that would be made. Steps that make its inputs must be added before it.

        Raises:
            GristmillError: the lake does not answer, or an input is not valid.
        """
        together = 0
        for prospect in prospects:
            if prospect.state in {"make", "follow"}:
                self._add_prospect(step, prospect, first=not together)
                together += 1

    def _add_prospect(self, step: Step, prospect: Prospect, *, first: bool) -> None:
        kind = kind_of(prospect.asset)
        name = kind.name if kind else ""
        old = self.estimates.get(name, Estimate(name))
        read, replaced = self._bytes_of_work(step, prospect)
        rate = self._rate_of_asset(prospect.asset)
        self._lengths[prospect.asset, prospect.snapshot] = None
        if rate is None or read is None:
            known = read if read is not None and first else 0
            self.estimates[name] = _add_estimates(old, Estimate(name, 1, 1, known, unknown=int(read is None)))
            return
        share = read / rate.read
        written = share * rate.written
        self._lengths[prospect.asset, prospect.snapshot] = share * rate.length
        new = written if kind and kind.immutable else written - min(replaced, written)
        added = Estimate(name, 1, 0, read if first else 0, written, new, share * rate.cpu)
        self.estimates[name] = _add_estimates(old, added)

    def _bytes_of_work(self, step: Step, prospect: Prospect) -> tuple[float | None, float]:
        """Bytes that a partition reads, or None if that is not known; and bytes of objects that it replaces."""
        where = place(prospect.asset, prospect.snapshot)
        if prospect.state == "follow":
            head = read_head(self._store, where)
            return self._bytes_after_inputs(step), head.totals.get("bytes", 0) if head else 0
        plan = step.plan(self._store)
        target = next(target for target in plan.targets if target.place == where)
        state = read_partition_state(self._store, where)
        _, todo, gone = plan_partition_changes(state, target, self._store)
        items = plan.items({prospect.asset: todo}, {prospect.asset: state}) if todo else []
        names = {*gone, *(want.name for want in todo)}
        replaced = sum(receipt.row.bytes for name, receipt in state.receipts.items() if name in names)
        return sum(item.weight for item in items), replaced

    def _bytes_after_inputs(self, step: Step) -> float | None:
        """Bytes that a step reads whose inputs are made first, of those inputs whose bytes its run notes count."""
        kinds = {asset: kind for asset in step.reads if (kind := kind_of(asset))}
        parts = [asset for asset, kind in kinds.items() if kind.immutable]
        read = parts or [asset for asset, kind in kinds.items() if kind.documents]
        lengths = [self._uncompressed_bytes(asset, step.snapshot) for asset in read]
        known = [length for length in lengths if length is not None]
        return sum(known) if known and len(known) == len(lengths) else None

    def _uncompressed_bytes(self, asset: str, snapshot: str) -> float | None:
        """Bytes of a partition, uncompressed: those that are written anew, else all of them."""
        if (asset, snapshot) in self._lengths:
            return self._lengths[asset, snapshot]
        head = read_head(self._store, place(asset, snapshot))
        return head.totals.get("length") if head else None

    def _rate_of_asset(self, asset: str) -> Rate | None:
        if self._rates is None:
            self._rates = dict(self._measured_rates())
        return next((self._rates[kin] for kin in self._nearest_kin(asset) if kin in self._rates), None)

    def _nearest_kin(self, asset: str) -> list[Kin]:
        """The nearest kin first: the asset itself, the same set or tokenizer elsewhere, the same kind."""
        kind, names = kind_of(asset), names_in_asset_address(asset)
        name = kind.name if kind else ""
        same = names.get("set") or names.get("tokenizer") or names.get("export")
        alike = "dedupe" if names.get("set") in self._dedupes else ""
        return [(asset,), *([(name, same)] if same else []), (name, "", alike)]

    def _measured_rates(self) -> Mapping[Kin, Rate]:
        found: dict[Kin, Rate] = {}
        for asset in self._assets:
            kind = kind_of(asset)
            for rate in self._rates_in_notes(asset) if kind and kind.is_partitioned else ():
                for kin in self._nearest_kin(asset):
                    found[kin] = found.get(kin, Rate()).add_rate(rate)
        return found

    def _rates_in_notes(self, asset: str) -> Iterator[Rate]:
        ledgers = [each for each in list_ledgers(self._store, ledgers_folder(asset)) if each.asset == asset]
        for ledger in sorted(ledgers, key=lambda each: each.snapshot, reverse=True)[:_NOTES]:
            noted = read_run_note(self._store, ledger).about.get("grind", {})
            with suppress(msgspec.ValidationError):  # a note is not proven: without it, others tell
                spent = msgspec.convert(noted, _Spent)
                if spent.read:
                    yield Rate(spent.read, spent.written, spent.length, spent.cpu / spent.assets)


def _add_estimates(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(
        one.kind,
        one.partitions + other.partitions,
        one.unmeasured + other.unmeasured,
        one.read + other.read,
        one.written + other.written,
        one.new + other.new,
        one.cpu + other.cpu,
        one.unknown + other.unknown,
    )
