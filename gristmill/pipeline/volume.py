"""The check `volume`: whether a partition is as large as those before it, and loses no more than its recipe allows.

a commit has the table of its partition: rows, bytes, tokens, rows dropped by reason, characters removed
the keys of its source's snapshots are known: those before this one (from `accept` on), the nearest first
at most 20 heads are read, until five partitions are found that the same recipe, models and tokenizers made
of attribute sets, the heads of the columns of at most 64 shards of each give quantiles; no shard is read
the median of each number over the five is its level; fewer than two give none
each number is compared with its level; shares are also compared with the bounds of the recipe
outside of what is usual: the check fails as a warning, and the partition is published
outside of the bounds: publish() refuses, so the partition stays as it was, and what is made from it waits
Dagster shows the verdict with its drawing; `gristmill make` says it
the index of a mix compares the editions that replace each other itself (gristmill/drift/editions.py)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.drift.comparison import Measure, compare_levels
from gristmill.drift.history import heads_before, maker_of_shards, nearest_before
from gristmill.drift.levels import QUANTILES, Levels, Quantiles, snapshot_levels
from gristmill.drift.words import plotted_entries, value_in_words, verdict_sentence
from gristmill.errors import DataError
from gristmill.execution.checks import Verdict
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, EXPORT, MIX, TOKEN_CACHE, kind_of, names_in_asset_address
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import find_head_and_table, table_totals
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.drift.bounds import NO_BOUNDS, Bounds
from gristmill.reports.level_plot import Panel, draw_levels
from gristmill.scores.quantiles import describe_sampled, label_quantiles

VOLUME = "volume"
_DRAWN = 12
"""Numbers that are drawn."""


@dataclass(frozen=True)
class Volume:
    """The check of the partitions of an asset. It is a Check: it is called with the lake, the partition and its table.

    Attributes:
        source: name of the source whose snapshots are the partitions.
        bounds: bounds of the recipe.
        accept: the snapshot from which a new level holds; empty: one level holds for all.
        marked: whether it counts documents that are duplicates.
        kinds: kinds of the labels of a set, as declared; None: none is declared.
        known: the keys of all snapshots of the source.
        describes: whether missing columns of the partition are written, so that its scores are compared. Bounds of
            scores do so in any case, also for the partitions before.
    """

    source: str
    bounds: Bounds
    accept: str
    marked: bool
    kinds: Mapping[str, str] | None
    known: Sequence[str]
    describes: bool

    @property
    def is_blocking(self) -> bool:
        """Whether it may hold a partition back: its recipe has bounds."""
        return bool(self.bounds.declared)

    def __call__(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        """Compares a partition, before its ledger is published.

        Raises:
            DataError: the recipe has bounds of scores, and the set cannot be described.
            StoreError: the lake does not answer.
        """
        if not shards:
            return Verdict(VOLUME, passed=True, description="no shards: its raw data have vanished", blocks=False)
        keys = nearest_before(partition.snapshot, self.known, self.accept)
        heads = heads_before(store, partition.asset, keys, maker_of_shards(shards))
        now = self._current_levels(store, partition, shards)
        before = [self._earlier_levels(store, head, scored=bool(now.quantiles)) for head in heads]
        measures = compare_levels(now, before, self.bounds)
        snapshots = [head.snapshot for head in heads]
        return Verdict(
            VOLUME,
            passed=not any(each.is_wrong for each in measures),
            description=verdict_sentence(measures, snapshots, partition.snapshot, self.source),
            metadata={**plotted_entries(measures, snapshots)},
            blocks=any(each.is_blocked for each in measures),
            picture=_levels_picture(measures, [*snapshots, partition.snapshot]),
        )

    def _current_levels(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Levels:
        dropped = sum_counts(shard.dropped for shard in shards)
        quantiles: Mapping[str, Quantiles] = {}
        if partition.kind is ATTRIBUTES and (self.describes or self.bounds.scores):
            try:
                describe_sampled(store, partition, shards, self.kinds)
            except DataError:
                if self.bounds.scores:
                    raise
            quantiles = self._score_quantiles(store, partition, shards)
        return snapshot_levels(partition.snapshot, table_totals(shards), dropped, quantiles, marked=self.marked)

    def _earlier_levels(self, store: Store, head: Ledger, *, scored: bool) -> Levels:
        quantiles: Mapping[str, Quantiles] = {}
        if scored:
            partition = place(head.asset, head.snapshot)
            try:
                found = find_head_and_table(store, partition)
            except DataError:  # it concerns its own partition alone
                found = None
            quantiles = self._earlier_quantiles(store, partition, found[1]) if found else {}
        return snapshot_levels(head.snapshot, head.totals, head.dropped, quantiles, marked=self.marked)

    def _earlier_quantiles(self, store: Store, partition: Place, shards: Sequence[Shard]) -> dict[str, Quantiles]:
        """The quantiles of a partition before. With bounds of scores, missing columns are written: once for all."""
        try:
            if self.bounds.scores:
                describe_sampled(store, partition, shards, self.kinds)
        except DataError:
            return {}
        return self._score_quantiles(store, partition, shards)

    def _score_quantiles(self, store: Store, partition: Place, shards: Sequence[Shard]) -> dict[str, Quantiles]:
        found = label_quantiles(store, partition, shards, QUANTILES, list(self.bounds.scores)) or {}
        return {label: (low, middle, high) for label, (low, middle, high) in found.items()}


def volume_check_of_address(
    catalogue: Catalogue, address: str, known: Sequence[str], *, describes: bool = False
) -> Volume:
    """The check of the partitions of an asset.

    Args:
        catalogue: the recipes.
        address: address of the asset.
        known: the keys of all snapshots of its source.
        describes: whether missing columns of the partition are written, as for Volume.
    """
    names = names_in_asset_address(address)
    dedupe = catalogue.dedupes.get(names["set"]) if kind_of(address) is ATTRIBUTES else None
    tagger = catalogue.taggers.get(names["set"]) if kind_of(address) is ATTRIBUTES else None
    labels = dedupe.labels if dedupe else tagger.labels if tagger else None
    source = source_of_address(catalogue, address)
    return Volume(
        source=source,
        bounds=bounds_of_recipe(catalogue, address) or NO_BOUNDS,
        accept=catalogue.sources[source].accept,
        marked=dedupe is not None and dedupe.marked == "documents",
        kinds={label.name: label.kind for label in labels} if labels is not None else None,
        known=known,
        describes=describes,
    )


def source_of_address(catalogue: Catalogue, address: str) -> str:
    """The name of the source whose snapshots are the partitions of an asset."""
    names = names_in_asset_address(address)
    return names["source"] if "source" in names else catalogue.mixes[names["mix"]].stream(names["stream"]).source


def bounds_of_recipe(catalogue: Catalogue, address: str) -> Bounds | None:
    """The bounds of the recipe that makes an asset; None if it has none.

    Those of a mix's stream hold for its slices. Of what is made from them, they bound rows, bytes and tokens.
    """
    kind, names = kind_of(address), names_in_asset_address(address)
    if kind is DOCUMENTS:
        source = catalogue.sources[names["source"]]
        return (source.revision(names["version"]) or source).bounds
    if kind is ATTRIBUTES:
        maker = catalogue.dedupes.get(names["set"]) or catalogue.taggers.get(names["set"])
        return maker.bounds if maker else None
    if kind not in {MIX, TOKEN_CACHE, EXPORT}:
        return None
    bounds = catalogue.mixes[names["mix"]].stream(names["stream"]).bounds
    if kind is MIX or bounds is None:
        return bounds
    return Bounds(rows=bounds.rows, bytes=bounds.bytes, tokens=bounds.tokens)


def _levels_picture(measures: Sequence[Measure], snapshots: Sequence[str]) -> str:
    """The drawing of the numbers that people look at first; empty if nothing is before."""
    if len(snapshots) < 2:
        return ""
    ordered = sorted(measures, key=lambda each: (not each.is_wrong, each.kind == "quantile", "50%" not in each.name))
    return draw_levels([_panel_of_measure(each) for each in ordered[:_DRAWN]], snapshots)


def _panel_of_measure(measure: Measure) -> Panel:
    return Panel(
        title=measure.name,
        values=(*measure.before, measure.value),
        level=measure.level,
        least=max(measure.least, measure.floor),
        most=min(measure.most, measure.ceiling),
        wrong=measure.is_wrong,
        words=lambda value: value_in_words(measure, value),
    )
