"""What a release pins beside its data, sealed again."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from releasekit import write_whole
from testkit import Mill
from wholelake import WORDS

from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Upstream
from gristmill.releases.pinned import PinnedRelease, read_pinned
from gristmill.releases.pinning import pinned_ledger
from gristmill.verification.derived_files.pinned_chain import pinned_chain_faults


@pytest.fixture
def released(whole: Mill) -> Mill:
    assert list(pinned_chain_faults(write_whole(whole))) == []
    return whole


def forged(mill: Mill, change: Callable[[PinnedRelease], dict[str, Any]]) -> list[str]:
    release = read_pinned(mill.store, "first")
    return list(pinned_chain_faults(msgspec.structs.replace(release, **change(release))))


def test_ledgers_of_a_release_in_another_order_are_found(released: Mill) -> None:
    found = forged(released, lambda release: {"ledgers": release.ledgers[::-1]})
    assert found[0] == "its ledgers are not in the order in which they are made, each once"


def test_a_ledger_that_leads_to_no_data_of_a_release_is_found(released: Mill) -> None:
    """The card of the release would say that a tagger had a part in its data."""
    other = place(WORDS.asset.replace("words-1", "characters-1"), "2024")
    head, _ = read_ledger(released.store, other)
    pinned = pinned_ledger(released.store, Upstream(other.asset, other.snapshot, head.fingerprint))
    found = forged(released, lambda release: {"ledgers": (*release.ledgers, pinned)})
    assert f"it pins {other.asset} (2024), which nothing of its data was made from" in found


def test_an_object_that_is_none_of_its_data_is_found(released: Mill) -> None:
    path = "sources/pages/v0/documents/2024/a.jsonl.gz"
    _, rows = read_ledger(released.store, place("sources/pages/v0/documents", "2024"))
    named = (rows[0].sha256, rows[0].bytes)
    found = forged(released, lambda release: {"objects": {**release.objects, path: named}})
    assert found == [f"it names {path}, which is no object of its slices, its exports or its tokenizer"]
