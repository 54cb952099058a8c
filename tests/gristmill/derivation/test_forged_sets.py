"""Forged sets that other sets and documents give: carried spans, labels of duplicates, and what these are made from."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import xxhash
from dedupelake import SHELVES, known, put, resolved
from labelrows import write_rows
from streams import rule
from testkit import SNAPSHOT, Mill
from wholelake import reseal_shard

from gristmill.derivation.partitions import Derivation
from gristmill.execution.finding import Finding
from gristmill.execution.step import Step
from gristmill.lake.address import Place, attributes_asset, place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.rules import score
from gristmill.recipes.source import Revision, Source
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import read_dedupe_order, steps_of_resolution
from gristmill.stages.fingerprints.binary_part import part_content_digest
from gristmill.stages.fingerprints.step import FingerprintStep
from gristmill.stages.mixing.carrying.step import CarryingStep
from gristmill.stages.mixing.step import revision_step
from gristmill.verification.audit import audit_ledger

CARRIED = place(attributes_asset("pages", "v1", "carried-words-1"), SNAPSHOT)
LABELS = place(attributes_asset("pages", "v0", "texts-1"), "a")


def found(mill: Mill, step: Step) -> list[Finding]:
    """What deriving a step again finds; its own audit finds nothing."""
    for asset in step.makes:
        assert audit_ledger(mill.store, place(asset, step.snapshot).ledger, mill.said.append) == []
    return list(Derivation(mill.lake, step, ShardSample(1), mill.said.append).derivation_findings())


def test_carried_spans(mill: Mill) -> None:
    of = carried(mill)
    step = CarryingStep(of, "v1", "words-1", SNAPSHOT, None, ("gristmill", "testshelf"))
    mill.make(step)
    assert found(mill, step) == []
    rows = mill.lines(CARRIED.shard("a"))
    attributes = json.loads(rows[2])["attributes"]
    assert attributes == {"carried-words-1__first": [[0, 4, 1.0]]}
    write_rows(mill, CARRIED, "a", [*rows[:2], rows[2].replace(b"[0,4,", b"[0,3,"), *rows[3:]])
    [finding] = found(mill, step)
    assert (finding.path, finding.row) == (CARRIED.shard("a"), 2)
    assert finding.what.endswith("its attributes.carried-words-1__first differs")


def test_spans_that_another_recipe_carried_are_not_proven_and_no_finding(mill: Mill) -> None:
    of = carried(mill)
    mill.make(CarryingStep(of, "v1", "words-1", SNAPSHOT, None, SHELVES))
    other = replace(of, revisions=(replace(of.revisions[0], exclude=rule("words < 3")),))
    assert found(mill, CarryingStep(other, "v1", "words-1", SNAPSHOT, None, SHELVES)) == []
    assert mill.said[-1].endswith("(2024): was made by another recipe; make it again first")


def carried(mill: Mill) -> Source:
    """v1 of `pages`, whose whitespace is repaired: no span is touched."""
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    options: dict[str, Any] = {
        "columns": (score("words-1__count", name="words"),),
        "exclude": rule("words < 2"),
        "edits": (Edit(spans="words-1__first", replacement="|", least=2.0),),
        "carry": ("words-1",),
    }
    of = replace(mill.source(), revisions=(Revision(version="v1", **options),))
    mill.make(revision_step(of, "v1", SNAPSHOT, ("gristmill", "testshelf")))
    return of


@pytest.fixture
def repeated(mill: Mill) -> Mill:
    """Two snapshots of pages: the texts `two` and `six` come twice."""
    put(mill, "a", "x", "one", "two")
    put(mill, "a", "y", "two", "red")
    put(mill, "b", "x", "two", "six", "six")
    return mill


def steps(mill: Mill, name: str) -> Iterator[Step]:
    """Every step of a dedupe recipe."""
    recipe = known().dedupes[name]
    yield from (FingerprintStep(recipe, "pages", snapshot, SHELVES) for snapshot in ("a", "b"))
    yield from steps_of_resolution(recipe, read_dedupe_order(mill.store, name)[0], SHELVES)
    yield from (DedupeLabelsStep(recipe, "pages", snapshot, SHELVES) for snapshot in ("a", "b"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts-1", "near-1", "confirmed-1"])
def test_all_of_a_good_dedupe_recipe_is_as_its_steps_make_it(repeated: Mill, name: str) -> None:
    resolved(repeated, name)
    for step in steps(repeated, name):
        assert found(repeated, step) == []
        derivation = Derivation(repeated.lake, step, ShardSample(1), repeated.said.append)
        assert list(derivation.derivation_findings()) == []
        assert derivation.proven_shards


def test_labels_of_duplicates(repeated: Mill) -> None:
    resolved(repeated, "texts-1")
    rows = repeated.lines(LABELS.shard("y"))
    assert [bool(json.loads(row)["attributes"]) for row in rows] == [True, False]
    clean = json.dumps({"id": "y0", "source": "pages", "attributes": {}}, separators=(",", ":")).encode()
    write_rows(repeated, LABELS, "y", [clean, rows[1]])
    [finding] = found(repeated, DedupeLabelsStep(known().dedupes["texts-1"], "pages", "a", SHELVES))
    assert (finding.path, finding.row) == (LABELS.shard("y"), 0)
    assert finding.what == "id 'y0': its attributes.texts-1__duplicate differs"


def test_marks_of_duplicates(repeated: Mill) -> None:
    resolved(repeated, "texts-1")
    where = place("dedupe/texts-1/marks/pages", "a")
    path = part_changed(repeated, where, "y", "marks", b"", rows=0)
    step = next(each for each in steps(repeated, "texts-1") if (each.makes[0], each.snapshot) == (where.asset, "a"))
    findings = found(repeated, step)
    assert [(each.path, each.what) for each in findings] == [
        (path, "made again it has other bytes"),
        (where.table, "shard y: rows is 0, but made again 1"),
    ]


def part_changed(mill: Mill, where: Place, part: str, name: str, data: bytes, **changes: Any) -> str:
    """Writes a file of a part anew, and seals the ledger. Returns the file's path."""
    extra = mill.table(where)[part].extra
    path = extra["folder"] + name
    mill.store.put(path, data)
    objects = {**extra["objects"], path: (hashlib.sha256(data).hexdigest(), len(data))}
    contents = {**extra["contents"], name: xxhash.xxh3_128_hexdigest(data)}
    size = sum(size for _, size in objects.values())
    sealed = {
        "extra": msgspec.to_builtins({**extra, "objects": objects, "contents": contents}),
        "content": part_content_digest(contents, extra["facts"]),
        "sha256": digest_of([[each, sha256] for each, (sha256, _) in objects.items()]),
    }
    reseal_shard(mill, where, part, bytes=size, length=size, **sealed, **changes)
    return str(path)
