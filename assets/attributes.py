"""Attribute sets: all sets of a dataset version are one graph, over one read of its documents; alignment blocks."""

from collections.abc import Sequence

from assets.support.keys import plain
from assets.support.step_ops import Check, Output, StepAssets
from gristmill.execution.checks import Verdict, row_alignment
from gristmill.execution.step import Step
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.tagging.step import TaggingStep
from resources.lake import LakeResource

ALIGNED = "the same shards, rows and ids in the same order as the documents"


def attribute_assets(catalogue: Catalogue, source: Source, version: str) -> StepAssets | None:
    """All attribute sets of a dataset version, if there are any."""
    taggers = catalogue.taggers_of(source, version)
    if not taggers:
        return None
    documents = documents_asset(source.name, version)
    by_address = {attributes_asset(source.name, version, tagger.name): tagger for tagger in taggers}

    def step(lake: LakeResource, snapshot: str, wanted: Sequence[str]) -> Step:
        chosen = tuple(by_address[address] for address in wanted)
        return TaggingStep(source.name, version, snapshot, chosen, lake.packages)

    return StepAssets(
        name=plain(next(iter(by_address)).rpartition("/")[0]),
        source=source.name,
        upstream=[documents],
        outputs=[_output(address, tagger, source, version) for address, tagger in by_address.items()],
        step=step,
        pool="tag",
    )


def _output(address: str, tagger: Tagger, source: Source, version: str) -> Output:
    return Output(
        address=address,
        description=tagger.description or tagger.name,
        code_version=tagger.recipe.digest[:16],
        group=source.name.replace("-", "_"),
        kinds=frozenset({"jsonl", "dolma", version}),
        owners=source.owners,
        checks={"row_alignment": (ALIGNED, _aligned(documents_asset(source.name, version)))},
    )


def _aligned(documents: str) -> Check:
    def check(store: Store, snapshot: str, shards: Sequence[Shard]) -> Verdict:
        _, rows = read_ledger(store, place(documents, snapshot))
        return row_alignment(rows, shards)

    return check
