from typing import Any

import msgspec
import pytest
from testkit import Mill

from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome, encode_raw


class Factor(msgspec.Struct, frozen=True):
    factor: int


class Number(msgspec.Struct, frozen=True):
    number: int


class Multiplying(ShardGrinder[Factor, Number]):
    def grind(self, item: Item, body: Number) -> Outcome:
        return Outcome((), {item.name: self._spec.factor * body.number, "shelves": len(self._shelves)})


def job(mill: Mill, spec: Any) -> Job:
    return Job(stage="multiplying", lake=mill.lake, shelves=("a", "b"), spec=encode_raw(spec))


def test_a_grinder_gets_the_structs_that_its_class_names(mill: Mill) -> None:
    assert Multiplying(job(mill, Factor(7)))(Item("six", 1, encode_raw(Number(6)))).facts == {"six": 42, "shelves": 2}


@pytest.mark.parametrize(("spec", "body"), [(Number(1), Number(2)), (Factor(1), Factor(2))])
def test_messages_of_another_stage_are_refused(mill: Mill, spec: Any, body: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field"):
        Multiplying(job(mill, spec))(Item("six", 1, encode_raw(body)))
