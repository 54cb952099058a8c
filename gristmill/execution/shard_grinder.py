"""The base of grinders: it decodes what a worker gets, so that a stage writes only how a shard is made."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, get_args

import msgspec

from gristmill.execution.work import Item, Job, Outcome
from gristmill.execution.write_shards import ShardOutput, write_shards

SpecT = TypeVar("SpecT", bound=msgspec.Struct)
BodyT = TypeVar("BodyT", bound=msgspec.Struct)


class ShardGrinder(ABC, Generic[SpecT, BodyT]):
    """Grinds the items of one job. See Grinder.

    A stage's class names the structs of its spec and of its items once, as in
    `class FingerprintGrinder(ShardGrinder[FingerprintSpec, FingerprintItem])`.

    Args:
        job: the job.

    Raises:
        msgspec.ValidationError: the job's spec is not of this stage.
    """

    _spec_type: type[Any]
    _body_type: type[Any]

    def __init_subclass__(cls) -> None:
        cls._spec_type, cls._body_type = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]

    def __init__(self, job: Job) -> None:
        self._spec: SpecT = msgspec.json.decode(job.spec, type=self._spec_type)
        self._store, self._shelves = job.lake.store(), job.shelves

    def __call__(self, item: Item) -> Outcome:
        return self.grind(item, msgspec.json.decode(item.body, type=self._body_type))

    def grind_shard(self, output: ShardOutput, write: Callable[[], None]) -> Outcome:
        """The outcome of an item that is one shard.

        Args:
            output: the shard.
            write: function that writes all rows to the output.
        """
        return Outcome(write_shards(self._store, [output], write))

    @abstractmethod
    def grind(self, item: Item, body: BodyT) -> Outcome:
        """Makes the shard of an item.

        Args:
            item: the item.
            body: its body, decoded.

        Returns:
            The outcome of the item.

        Raises:
            GristmillError: the shard could not be made.
        """
