from dataclasses import replace

import msgspec
import pytest
from msgspec import UNSET
from releasekit import card_of_whole, release_of_whole
from testkit import SHELVES, Mill

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.catalogue import read_catalogue
from gristmill.releases.card import DroppedRows, SetCard, data_card
from gristmill.releases.card_text import card_text
from gristmill.releases.croissant import croissant_metadata
from gristmill.releases.pinning import trainer_reading

EVEN = {"pages": 1.0}
"""The weights of the trainer's configuration."""


def test_the_card_counts_what_each_step_kept_and_dropped(whole: Mill) -> None:
    card = card_of_whole(whole)
    assert [(step.asset, step.kept, sum(each.rows for each in step.dropped)) for step in card.steps] == [
        ("sources/pages/v0/documents", 40, 1),
        ("sources/pages/v1/documents", 16, 24),
        ("mixes/even/documents/pages", 8, 8),
    ]
    assert card.steps[2].dropped == (DroppedRows("by-four", 8, "number % 4 = 0", "a number that one can count by eye"),)
    assert card.documents == 8
    assert card.licences == {"not declared": card.tokens}
    assert [(each.stream, each.source, each.version, each.snapshots) for each in card.streams] == [
        ("pages", "pages", "v1", ("2024",))
    ]


def test_an_index_without_a_slice_has_no_card(whole: Mill) -> None:
    release = release_of_whole(whole)
    none = msgspec.structs.replace(
        release, ledgers=tuple(each for each in release.ledgers if "tiny-1" not in each.asset)
    )
    with pytest.raises(DataError, match=r"^mix 'even': its index by tiny-1 has no slice"):
        data_card(none, read_catalogue(SHELVES), EVEN, trainer_reading(whole.store, release))


def test_the_rows_that_edits_and_transforms_changed_are_counted_over_snapshots(whole: Mill) -> None:
    release = release_of_whole(whole)
    counted = {"edits: rows changed": 2, "transform calmer-1: rows changed": 3, "rows changed": 4}
    ledgers = tuple(
        msgspec.structs.replace(each, totals=each.totals | counted) if each.asset.startswith("mixes/") else each
        for each in release.ledgers
    )
    card = data_card(
        msgspec.structs.replace(release, ledgers=ledgers),
        read_catalogue(SHELVES),
        EVEN,
        trainer_reading(whole.store, release),
    )
    assert [step.changed for step in card.steps] == [{}, {}, {"edits": 2, "transform calmer-1": 3}]
    assert [step.kept_changed for step in card.steps] == [0, 0, 4]


def test_partitions_that_no_slice_reads_are_not_counted(whole: Mill) -> None:
    """Duplicates are looked for in all editions and sources, so a release pins them all."""
    release = release_of_whole(whole)
    sources = [each for each in release.ledgers if each.asset.startswith("sources/")]
    editions = [msgspec.structs.replace(each, snapshot="2023") for each in sources]
    others = [msgspec.structs.replace(each, asset=each.asset.replace("/pages/", "/tales/")) for each in sources]
    wider = msgspec.structs.replace(release, ledgers=(*release.ledgers, *editions, *others))
    reading = trainer_reading(whole.store, release)
    assert data_card(wider, read_catalogue(SHELVES), EVEN, reading) == card_of_whole(whole)
    older = data_card(wider, read_catalogue(SHELVES), EVEN, reading, UNSET)
    assert [(step.asset, step.kept) for step in older.steps][:1] == [("sources/pages/v0/documents", 80)]
    assert {"form", "kept_changed"}.isdisjoint(str(msgspec.to_builtins(older)).split("'"))


def test_rows_that_tokenization_left_out_are_told(whole: Mill) -> None:
    release = release_of_whole(whole)
    ledgers = [
        msgspec.structs.replace(each, dropped={"no messages": 3}) if each.asset.startswith("token_caches/") else each
        for each in release.ledgers
    ]
    cut = msgspec.structs.replace(release, ledgers=tuple(ledgers))
    *_, step = data_card(cut, read_catalogue(SHELVES), EVEN, trainer_reading(whole.store, release)).steps
    assert (step.asset, step.kept) == ("token_caches/even/tiny-1/pages", 8)
    assert step.dropped == (DroppedRows("no messages", 3),)


@pytest.mark.parametrize(
    ("name", "parameters", "inputs", "what", "made_from"),
    [
        ("words-1", {}, ("sources/pages/v0/documents",), "tagger", ()),
        ("words-1", {}, ("models/words-1",), "classifier", ("models/words-1",)),
        ("words-1", {"overlaps": 1}, ("models/quiz-1",), "overlaps", ("models/quiz-1",)),
        ("words-1", {}, ("sources/pages/raw",), "adopted", ()),
        (
            "carried-words-1",
            {"set": "words-1"},
            ("sources/pages/v0/documents", "sources/pages/v0/attributes/words-1"),
            "carried",
            ("sources/pages/v0/attributes/words-1",),
        ),
        (
            "carried-lines-1",
            {"set": "lines-1"},
            ("sources/pages/v0/attributes/lines-1",),
            "carried",
            ("sources/pages/v0/attributes/lines-1",),
        ),
        ("lines-1", {}, ("dedupe/lines-1/marks/pages",), "duplicates", ("dedupe/lines-1/resolution",)),
    ],
)
def test_the_card_says_what_made_a_set(
    whole: Mill,
    name: str,
    parameters: dict[str, object],
    inputs: tuple[str, ...],
    what: str,
    made_from: tuple[str, ...],
) -> None:
    release = release_of_whole(whole)
    old = "sources/pages/v0/attributes/words-1"
    asset = old.replace("words-1", name)
    ledgers = [
        msgspec.structs.replace(
            each,
            asset=asset,
            recipe={**each.recipe, "parameters": msgspec.Raw(msgspec.json.encode(parameters))},
            inputs=tuple((one, "2024", "") for one in inputs),
        )
        if each.asset == old
        else msgspec.structs.replace(each, inputs=tuple((asset if a == old else a, *b) for a, *b in each.inputs))
        for each in release.ledgers
    ]
    changed = msgspec.structs.replace(release, ledgers=tuple(ledgers))
    [found] = data_card(changed, read_catalogue(SHELVES), EVEN, trainer_reading(whole.store, release)).sets
    assert (found.asset, found.what, found.made_from) == (asset, what, made_from)


def test_licence_and_language_of_the_source_are_counted_and_shown(whole: Mill) -> None:
    catalogue = read_catalogue(SHELVES)
    source = replace(catalogue.sources["pages"], licence="CC-BY-4.0", language="en")
    declared = replace(catalogue, sources={**catalogue.sources, "pages": source})
    card = data_card(release_of_whole(whole), declared, EVEN, trainer_reading(whole.store, release_of_whole(whole)))
    assert (card.licences, card.languages) == ({"CC-BY-4.0": card.tokens}, {"en": card.tokens})
    assert f"| en | {card.tokens} | 100.0% |" in card_text(card)
    found = croissant_metadata(card, {})
    assert (found["license"], found["inLanguage"]) == (["CC-BY-4.0"], ["en"])


def test_the_card_names_the_sets_that_rules_read(whole: Mill) -> None:
    description = read_catalogue(SHELVES).taggers["words-1"].description
    assert card_of_whole(whole).sets == (SetCard("sources/pages/v0/attributes/words-1", "tagger", description, ()),)


def test_rules_that_have_changed_since_are_not_described(whole: Mill) -> None:
    catalogue = read_catalogue(SHELVES)
    [stream] = catalogue.mixes["even"].streams
    object.__setattr__(stream, "rate", 0.5)
    try:
        with pytest.raises(RecipeError, match=r"mixes/even/documents/pages \(2024\): its recipe on the shelf is not"):
            card_of_whole(whole)
    finally:
        object.__setattr__(stream, "rate", 1.0)


def test_the_card_is_the_same_each_time(whole: Mill) -> None:
    assert msgspec.json.encode(card_of_whole(whole)) == msgspec.json.encode(card_of_whole(whole))


def test_a_card_of_weights_alone_is_as_it_was(whole: Mill) -> None:
    card = card_of_whole(whole)
    assert "training" not in msgspec.to_builtins(card)
    assert "## Training" not in card_text(card)
