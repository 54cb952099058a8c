"""The asset `lake`: what the lake holds, how old it is, and what is red."""

from typing import Any

import dagster as dg
import pytest
from dagster_kit import LETTERS_V0, TINY_LETTERS, Works

from assets.support.keys import LAKE, key_of
from gristmill.lake.address import place, raw_folder
from resources.pauses import pause_recipes


def looked(works: Works) -> dict[str, Any]:
    """The metadata of a new materialization; tables as lists of rows."""
    assert works.run("lake_totals", None).success
    event = works.instance.get_latest_materialization_event(key_of(LAKE))
    assert event is not None
    assert event.asset_materialization is not None
    found: dict[str, Any] = {}
    for name, value in event.asset_materialization.metadata.items():
        if isinstance(value, dg.TableMetadataValue):
            found[name] = [dict(each.data) for each in value.records]
        else:
            found[name] = value.value
    return found


def test_it_counts_documents_of_the_newest_versions_and_tokens_and_names_what_is_empty(made: Works) -> None:
    facts = looked(made)
    diary, letters = facts["sources"]
    assert (letters["snapshots"], letters["rows"]) == (1, 2)  # v1 drops one of three
    assert letters["source"] == "letters"
    assert letters["newest data"].startswith("2024, ")
    assert diary == {**diary, "source": "diary", "snapshots": 0, "rows": 0, "newest data": "none has come yet"}
    ledger = made.ledger(TINY_LETTERS)
    assert ledger is not None
    assert (facts["dagster/row_count"], facts["tokens"]) == (2, ledger.totals["tokens"])
    assert (facts["red"], facts["what is red"]) == (0, "none")
    assert facts["hours since the newest data"] < 1
    words = facts["in words"]
    assert words.startswith("**Nothing is red.**\n\n2 documents of 1 source, ")
    assert "1 source without data." in words
    assert len(words) < 1000  # Dagster's pages unfold no longer ones


def test_what_a_new_database_finds_in_the_lake_did_not_come_now(made: Works) -> None:
    """Documents of 2024 were made before this Dagster. Then 2025 comes."""
    with dg.DagsterInstance.ephemeral() as fresh:
        works = Works(made.root, fresh)
        assert works.run("sync", None).success
        facts = looked(works)
        assert facts["sources"][1]["newest data"] == "2024, before Dagster knew"
        assert "hours since the newest data" not in facts
        assert facts["in words"].endswith(" is not known: the lake had them before this database of Dagster.")
        works.raw([{"id": "letter-9", "text": "word", "source": "letters"}], snapshot="2025")
        works.arrive("letters")
        facts = looked(works)
        assert facts["sources"][1]["newest data"].startswith("2025, 2")
        assert "Data came or changed last 0.0 hours ago: letters." in facts["in words"]


def test_it_names_what_is_paused(made: Works) -> None:
    assert looked(made)["paused"] == "none"
    pause_recipes(made.instance, ["letters", "blend"])
    assert looked(made)["paused"] == "blend, letters"


@pytest.mark.slow
def test_what_failed_is_named_until_it_is_made(made: Works) -> None:
    bad = f"{raw_folder('letters', '2025')}a.jsonl.gz"
    made.store.put(bad, b"no gzip")
    made.arrive("letters")
    assert not made.run("letters_journey", "2025", only=[LETTERS_V0]).success
    facts = looked(made)
    assert facts["what is red"] == [{"asset": LETTERS_V0, "what": "2025", "why": "its last run failed"}]
    assert facts["in words"].startswith("**1 thing red**")
    made.raw([{"id": "letter-9", "text": "word", "source": "letters"}], snapshot="2025")
    assert made.run("letters_journey", "2025", only=[LETTERS_V0]).success
    assert looked(made)["red"] == 0


def test_a_ledger_that_cannot_be_read_is_named_and_hides_no_other(made: Works) -> None:
    ledger = place(LETTERS_V0, "2024").ledger
    made.store.put(ledger, b"{")
    facts = looked(made)
    ((named),) = facts["what is red"]
    assert (named["asset"], named["why"].startswith("its ledger cannot be read: ")) == (ledger, True)
    assert facts["dagster/row_count"] == 2  # of v1


@pytest.mark.slow
def test_a_failed_audit_is_named(made: Works) -> None:
    path = place(LETTERS_V0, "2024").shard("a")
    data = made.store.read(path)
    made.store.put(path, data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    assert made.audit("letters").success
    named = {each["what"] for each in looked(made)["what is red"] if each["asset"] == LETTERS_V0}
    assert named == {"ids_unique_audit"}
