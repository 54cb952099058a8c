"""What a shard says it was made from is what its recipe reads: no `from` switches a proof off."""

import json
from collections.abc import Callable

import msgspec
import pytest
from labelrows import write_rows
from lies import audit
from testkit import SHELVES, Mill
from wholelake import DOCUMENTS, REVISED, STREAM, WORDS, even, reseal, reseal_shard, table

from gristmill.derivation.partitions import Derivation
from gristmill.execution.finding import Finding
from gristmill.execution.step import Step
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import as_json, compose_ledger, read_ledger
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.stages.mixing.step import revision_step, stream_step

pytestmark = pytest.mark.slow

Inputs = tuple[Input, ...]


def renamed(inputs: Inputs) -> Inputs:
    return (*inputs[:-1], msgspec.structs.replace(inputs[-1], asset="models/stranger"))


FORGED: dict[str, Callable[[Inputs], Inputs]] = {
    "emptied": lambda _: (),
    "renamed": renamed,
    "without the last": lambda inputs: inputs[:-1],
    "twice": lambda inputs: (*inputs, *inputs),
    "with a raw object": lambda inputs: (*inputs, Input("sources/pages/raw", "a", "0")),
    "of another shard": lambda inputs: (msgspec.structs.replace(inputs[0], shard="b"), *inputs[1:]),
}

STEPS: dict[str, tuple[Place, Callable[[Mill], Step]]] = {
    "conversion": (DOCUMENTS, lambda mill: mill.conversion()),
    "labels": (WORDS, lambda mill: mill.tagging("words-1")),
    "revision": (REVISED, lambda mill: revision_step(mill.source(), "v1", "2024", SHELVES)),
    "mix": (STREAM, lambda _: stream_step(even(), "pages", "2024", SHELVES)),
}


def derived(mill: Mill, step: Step) -> tuple[list[Finding], Derivation]:
    derivation = Derivation(mill.lake, step, ShardSample(1), mill.said.append)
    return list(derivation.derivation_findings()), derivation


@pytest.mark.parametrize("made", STEPS)
def test_inputs_that_the_recipe_does_not_read_are_findings_and_the_shard_is_not_proven(whole: Mill, made: str) -> None:
    where, step = STEPS[made]
    good = table(whole, where)
    assert derived(whole, step(whole))[0] == []
    for forge in FORGED.values():
        reseal(whole, where, [msgspec.structs.replace(good[0], inputs=forge(good[0].inputs)), *good[1:]])
        findings, derivation = derived(whole, step(whole))
        assert {each.path for each in findings} == {where.table}
        assert all(each.what.startswith("shard a") for each in findings)
        assert {name for _, _, name in derivation.proven_shards} == {"b"}
        assert not whole.said or "not proven" not in whole.said[-1]


def test_a_forged_label_is_found_though_from_is_empty(whole: Mill) -> None:
    rows = whole.lines(WORDS.shard("a"))
    rows[7] = rows[7].replace(b"3.0]", b"9.0]", 1)
    write_rows(whole, WORDS, "a", rows)
    reseal_shard(whole, WORDS, "a", inputs=())
    assert [each for each in audit(whole)[0] if WORDS.asset in each.path and "v1" not in each.path] == []
    first, second = derived(whole, whole.tagging("words-1"))[0]
    assert first.what.startswith(
        "shard a was made from nothing, but the recipe makes it from sources/pages/v0/documents/a"
    )
    assert (second.path, second.row) == (WORDS.shard("a"), 7)


def test_partitions_that_a_head_names_are_those_that_the_recipe_reads(whole: Mill) -> None:
    head, rows = read_ledger(whole.store, STREAM)
    whole.store.put(STREAM.ledger, as_json(compose_ledger(STREAM, head.recipe, head.inputs[:0], rows)))
    [finding, *_] = derived(whole, STEPS["mix"][1](whole))[0]
    assert (finding.path, finding.what) == (STREAM.ledger, f"it does not name as an input {REVISED.asset} 2024")


def test_documents_that_were_made_anew_since_leave_a_note_and_their_audit_a_finding(whole: Mill) -> None:
    rows = whole.lines(DOCUMENTS.shard("a"))
    whole.raw("a.jsonl.gz", [json.loads(row) for row in rows[:9]])
    whole.convert()
    findings, _ = derived(whole, whole.tagging("words-1"))
    assert findings == []
    assert whole.said[-1] == f"{WORDS.asset} (2024): 1 shards not proven, made from what has changed since"
    assert any(each.path == WORDS.ledger and "made from" in each.what for each in audit(whole)[0])
