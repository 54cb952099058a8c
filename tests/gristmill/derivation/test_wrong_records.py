"""Rows of tables whose field `extra` is of another form: an error names the table, and nothing else is raised."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
from dedupelake import SHELVES, known, put, resolved
from testkit import Mill
from wholelake import reseal_shard, table

from gristmill.derivation.partitions import Derivation
from gristmill.errors import GristmillError
from gristmill.execution.finding import guard_proof
from gristmill.execution.step import Step
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import VERDICTS
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import compose_resolution, read_dedupe_order, steps_of_resolution
from gristmill.stages.fingerprints.step import FingerprintStep

pytestmark = pytest.mark.slow

Extra = dict[str, Any]


def without(field: str) -> Callable[[Extra], Any]:
    return lambda extra: {name: value for name, value in extra.items() if name != field}


def first_lost(field: str) -> Callable[[Extra], Any]:
    return lambda extra: {**extra, field: dict(sorted(extra[field].items())[1:])}


def other(field: str, value: object) -> Callable[[Extra], Any]:
    return lambda extra: {**extra, field: value}


WRONG: dict[str, Callable[[Extra], Any]] = {
    "nothing": lambda _: {},
    **{f"no {field}": without(field) for field in ("folder", "objects", "contents", "facts")},
    **{f"a lost one of {field}": first_lost(field) for field in ("objects", "contents", "facts")},
    **{f"{field} a number": other(field, 7) for field in ("folder", "objects", "contents", "facts")},
    "contents of numbers": lambda extra: {**extra, "contents": dict.fromkeys(extra["contents"], 7)},
    "facts of words": lambda extra: {**extra, "facts": dict.fromkeys(extra["facts"], "word")},
    "facts below 0": lambda extra: {**extra, "facts": dict.fromkeys(extra["facts"], -1)},
}


def steps(mill: Mill, name: str) -> Iterator[Step]:
    recipe = known().dedupes[name]
    yield FingerprintStep(recipe, "pages", "a", SHELVES)
    yield from steps_of_resolution(recipe, read_dedupe_order(mill.store, name)[0], SHELVES)
    yield DedupeLabelsStep(recipe, "pages", "a", SHELVES)


def foreign(act: Callable[[], object]) -> Iterator[str]:
    """What an act raises that is no error of ours, or names no object."""
    try:
        act()
    except GristmillError as error:
        if ".shards.jsonl.gz" not in str(error) and "/part-" not in str(error):
            yield str(error)
    except Exception as error:  # noqa: BLE001 - the test shows all of them
        yield repr(error)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts-1", "near-1"])
def test_a_wrong_record_of_a_part_is_an_error_that_names_its_table(mill: Mill, name: str) -> None:
    put(mill, "a", "x", "one two three", "one two three", "another text")
    resolved(mill, name)
    order = read_dedupe_order(mill.store, name)[0]
    all_steps = list(steps(mill, name))
    places = {place(asset, step.snapshot) for step in all_steps for asset in step.makes if "dedupe/" in asset}
    found: list[str] = []
    for where in sorted(places, key=lambda each: each.asset):
        before = {path: mill.store.read(path) for path in (where.table, where.ledger)}
        row = table(mill, where)[0]
        for what, change in WRONG.items():
            reseal_shard(mill, where, row.name, extra=change(msgspec.to_builtins(row.extra)))
            acts: list[Callable[[], object]] = [partial(step.plan, mill.store) for step in all_steps]
            acts.append(partial(compose_resolution, mill.store, name, order))
            told = [each for act in acts for each in foreign(act)]
            found += [f"{where.asset}, {what}: {each}" for each in told]
            for path, data in before.items():
                mill.store.put(path, data)
    assert found == []


def test_a_round_whose_table_lacks_a_file_is_derived_without_a_trace(mill: Mill) -> None:
    put(mill, "a", "x", "one", "one")
    resolved(mill, "texts-1")
    round_ = place(VERDICTS.at(dedupe="texts-1"), "r00001")
    row = table(mill, round_)[0]
    reseal_shard(mill, round_, row.name, extra=first_lost("contents")(msgspec.to_builtins(row.extra)))
    for step in steps(mill, "texts-1"):
        derivation = Derivation(mill.lake, step, ShardSample(1), mill.said.append)
        found = [str(each) for each in guard_proof(mill.store, round_.ledger, derivation.derivation_findings())]
        assert all(round_.table in each and "Error" not in each for each in found)
        assert len(found) == (round_.asset in (*step.makes, *step.reads)), step
