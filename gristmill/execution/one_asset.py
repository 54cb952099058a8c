"""Steps that make one asset: what all of them have in common.

A stage declares what its step reads, its recipe, and the work of each shard. `gristmill/stages/fingerprints/step.py`
shows all of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from gristmill.execution.checks import Check
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.step import StepPlan
from gristmill.execution.work import Item, encode_raw
from gristmill.lake.address import Place, place
from gristmill.lake.ledger.model import Input, Recipe, Shard
from gristmill.lake.store.protocol import Store


class OneAssetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that all shards of a partition share. A stage adds its own.

    Attributes:
        place: the partition that is made.
        token: token of the run that has claimed it.
        recipe: digest of its recipe.
        code: digest of the code of its recipe; empty: it has none, or it is not known.
    """

    place: Place
    token: str
    recipe: str
    code: str = ""


class Body(Protocol):
    """The work of one shard, as its worker gets it."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that the shard is made from."""


BodyT = TypeVar("BodyT", bound=msgspec.Struct)


class OneAssetStep(ABC):
    """A step that makes one asset. A stage's step is a frozen dataclass below it; see Step.

    Attributes:
        asset: address of the asset that it makes.
        snapshot: key of the partition.
        recipe: recipe of the asset, for its ledger. A step that needs the lake to know it has none, and defines
            code_version() itself.
    """

    if TYPE_CHECKING:  # a step has them as fields or as properties; a field would take a property here as its default

        @property
        def asset(self) -> str: ...

        @property
        def snapshot(self) -> str: ...

        @property
        def recipe(self) -> Recipe: ...

    @property
    def made_place(self) -> Place:
        """The partition that it makes."""
        return place(self.asset, self.snapshot)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step. The default is no check: workers check what they read."""
        return {}

    @abstractmethod
    def plan(self, store: Store) -> StepPlan:
        """See Step."""


@dataclass(frozen=True)
class OneAssetPlan(ABC):
    """The plan of a step that makes one asset.

    Attributes:
        target: the partition as it should be.
        settings: function that makes the spec of the workers; it takes place, token and recipe as a OneAssetSpec does.
    """

    target: Target
    settings: Callable[..., Any]

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> Any:
        """See StepPlan."""
        return self.settings(place=self.target.place, token=token, recipe=self.target.recipe.digest)

    @abstractmethod
    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """See StepPlan."""


@dataclass(frozen=True)
class ShardPlan(OneAssetPlan, Generic[BodyT]):
    """A plan in which each missing shard is an item of its own.

    Attributes:
        bodies: the work of each shard, by the shard's name.
        weight: the bytes that a worker reads for some work.
    """

    bodies: Mapping[str, BodyT]
    weight: Callable[[BodyT], int]

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        bodies = [(want.name, self.bodies[want.name]) for want in todo[self.target.place.asset]]
        return [Item(name, self.weight(body), encode_raw(body)) for name, body in bodies]


def wanted_shards(bodies: Mapping[str, Body]) -> tuple[Want, ...]:
    """The shards that a partition should hold: one for each body, of the body's inputs."""
    return tuple(Want(name, body.inputs) for name, body in bodies.items())


def shard_for_workers(shard: Shard) -> Shard:
    """A shard as workers need it: without its members and inputs, which may be long lists."""
    return msgspec.structs.replace(shard, members=(), inputs=())
