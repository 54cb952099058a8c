"""The base of steps that make one asset: what it gives, and what the work of a missing shard looks like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import pytest
from testkit import Mill

from gristmill.execution.one_asset import (
    OneAssetPlan,
    OneAssetSpec,
    OneAssetStep,
    ShardPlan,
    shard_for_workers,
    wanted_shards,
)
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item
from gristmill.lake.address import place
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store

ASSET = "sources/pages/v0/attributes/letters-1"
BYTES = {"a": 10, "b": 20, "c": 30}


class Letters(msgspec.Struct, frozen=True):
    bytes: int
    inputs: tuple[Input, ...] = ()


class LettersSpec(OneAssetSpec, frozen=True):
    alphabet: str


@dataclass(frozen=True)
class LettersStep(OneAssetStep):
    snapshot: str
    shelves: tuple[str, ...] = ()
    stage: str = "letters"
    asset: str = ASSET

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def recipe(self) -> Recipe:
        return Recipe("letters-1", 1, {"alphabet": "abc"})

    def plan(self, store: Store) -> ShardPlan[Letters]:
        del store
        bodies = {name: Letters(size, (Input("raw/pages", name, "0"),)) for name, size in BYTES.items()}
        target = Target(self.made_place, self.recipe, (), wanted_shards(bodies))
        return ShardPlan(target, partial(LettersSpec, alphabet="abc"), bodies, lambda body: body.bytes)


def test_a_step_names_its_one_asset_its_partition_and_its_recipe(mill: Mill) -> None:
    step = LettersStep("2024")
    assert step.makes == (ASSET,)
    assert step.made_place == place(ASSET, "2024")
    assert step.code_version(ASSET) == step.recipe.digest
    assert step.checks(ASSET) == {}
    (target,) = step.plan(mill.store).targets
    assert (target.place, target.recipe) == (step.made_place, step.recipe)
    assert [(want.name, want.inputs) for want in target.wants] == [
        (name, (Input("raw/pages", name, "0"),)) for name in "abc"
    ]


def test_the_spec_has_the_partition_the_token_and_the_digest_of_the_recipe_beside_what_the_stage_adds(
    mill: Mill,
) -> None:
    step = LettersStep("2024")
    assert step.plan(mill.store).spec("token-7") == LettersSpec(
        place=step.made_place, token="token-7", recipe=step.recipe.digest, alphabet="abc"
    )


def test_each_missing_shard_is_an_item_and_no_other(mill: Mill) -> None:
    plan = LettersStep("2024").plan(mill.store)
    wants = {want.name: want for want in plan.target.wants}
    items = plan.items({ASSET: [wants["c"], wants["a"]]}, {})
    assert [(item.name, item.weight) for item in items] == [("c", 30), ("a", 10)]
    assert [msgspec.json.decode(item.body, type=Letters) for item in items] == [plan.bodies["c"], plan.bodies["a"]]
    assert plan.items({ASSET: []}, {}) == []


def test_a_plan_that_does_not_say_its_items_cannot_be_made(mill: Mill) -> None:
    class Empty(OneAssetPlan):
        pass

    class Full(OneAssetPlan):
        def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
            del todo, states
            return []

    target = LettersStep("2024").plan(mill.store).target
    assert Full(target, LettersSpec).targets == (target,)
    with pytest.raises(TypeError, match="items"):
        Empty(target, LettersSpec)  # type: ignore[abstract]


def test_what_workers_get_of_a_shard_lacks_its_long_lists_and_nothing_else(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    (shard,) = mill.table(place("sources/pages/v0/documents", "2024")).values()
    assert shard.inputs
    short = shard_for_workers(shard)
    assert (short.inputs, short.members) == ((), ())
    assert msgspec.structs.replace(short, inputs=shard.inputs, members=shard.members) == shard
