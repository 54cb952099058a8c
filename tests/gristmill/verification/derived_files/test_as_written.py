"""A record of the lake that says more than its readers read, or something else beside it: sealed, and found."""

from collections.abc import Callable
from typing import Any

import pytest
from blendlake import Blend
from lies import audit, part_object
from releasekit import write_whole
from resealed import forge
from testkit import Mill

from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.lake.ledger.lake_id import LAKE_FILE, make_lake_id
from gristmill.verification.audit import audit_ledger
from gristmill.verification.lake_file import audit_unledgered

INDEX = "token_caches/even/tiny-1/index/index.json"
RELEASE = "releases/first.json"
BLEND = "mixes/blend/ledgers/pages/2024.json"


def told(mill: Mill, path: str) -> list[str]:
    """What the audits of ledgers, of lake.json and of releases find on an object."""
    found = [*audit(mill)[0], *audit_unledgered(mill.store, mill.said.append)]
    return [each.what for each in found if each.path == path]


FORGED: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "a key that nobody reads": (INDEX, lambda index: index.update(note="1"), "it has the field 'note', which no such"),
    "a key inside": (
        INDEX,
        lambda index: index["slices"][0].update(note="1"),
        "it has the field 'note', which no such",
    ),
    "a schema that never was": (INDEX, lambda index: index.update(schema=0), "its schema is 0, which no Gristmill"),
    "a key of lake.json": (LAKE_FILE, lambda lake: lake.update(note="1"), "it has the field 'note'"),
    "a ledger of a release, twice": (
        RELEASE,
        lambda release: release["ledgers"].append(release["ledgers"][-1]),
        "its ledgers are not in the order in which they are made, each once",
    ),
    "ledgers of a release, turned round": (
        RELEASE,
        lambda release: release["ledgers"].reverse(),
        "its ledgers are not in the order in which they are made, each once",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_no_reader_reads_is_found(whole: Mill, what: str) -> None:
    write_whole(whole)
    make_lake_id(whole.store)
    path, change, finding = FORGED[what]
    assert told(whole, path) == []
    forge(whole, path, change)
    assert [each for each in told(whole, path) if each.startswith(finding)]


@pytest.mark.parametrize("key", ["layout", "another"])
def test_a_levanter_ledger_of_a_part_is_as_written(whole: Mill, key: str) -> None:
    path = part_object(whole, "/shard_ledger.json")
    forge(whole, path, lambda ledger: ledger.pop(key, None) or ledger.update({key: {}} if key == "another" else {}))
    assert told(whole, path) == ["it is not as Gristmill writes such a ledger"]


@pytest.fixture
def blend(mill: Mill) -> Blend:
    found = Blend(mill, {"lines": EnergonJsonl()}, {"pages": 1.0})
    found.write({"2024/a": range(4)})
    found.block("page-0002")
    found.make("2024")
    return found


def test_the_fingerprint_of_a_blocklist_follows_from_what_the_shards_contain(blend: Blend) -> None:
    def change(head: Any) -> None:
        head["inputs"][0]["fingerprint"] = "0" * 64

    assert audit_ledger(blend.mill.store, BLEND, blend.mill.said.append) == []
    forge(blend.mill, BLEND, change)
    found = audit_ledger(blend.mill.store, BLEND, blend.mill.said.append)
    assert [each.what for each in found if each.what.startswith("inputs is")]
