"""Counters of version 0.2 are no damage; others are."""

from streams import rule, stream
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import reseal_shard

from gristmill.derivation.partitions import Derivation
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.recipes.mix import Mix
from gristmill.recipes.rules import field
from gristmill.stages.mixing.step import stream_step


def test_a_ledger_without_the_rows_with_null_is_as_version_0_2_wrote_it(mill: Mill) -> None:
    rows = [{"id": f"{n}", "text": "t", "source": "pages", "metadata": {"a": n or None}} for n in range(3)]
    mill.raw("a.jsonl.gz", [*rows, {"id": "3", "text": "t", "source": "pages"}])
    mill.convert()
    chosen = stream(columns=(field("metadata.a", "BIGINT"),), include=rule("a > 1"))
    mill.mix(chosen)
    step = stream_step(Mix(name="blend", streams=(chosen,)), "pages", SNAPSHOT, SHELVES)
    for counts, finding in (
        ({"absent: a": 1, "null: a": 1}, ""),
        ({"absent: a": 1}, ""),
        ({"absent: a": 1, "null: a": 2}, "counts is {'null: a': 2}, but made again {'null: a': 1}"),
        ({"absent: a": 2}, "counts is {'absent: a': 2}, but made again {'absent: a': 1, 'null: a': 1}"),
    ):
        reseal_shard(mill, mill.stream(), "a", counts=counts)
        found = list(Derivation(mill.lake, step, ShardSample(1), mill.said.append).derivation_findings())
        assert [each.what for each in found] == ([f"shard a: {finding}"] if finding else [])
