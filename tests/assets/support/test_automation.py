"""What is made by itself: the conditions of the real definitions, evaluated tick by tick, what they ask for made."""

import pytest
from dagster_kit import (
    BLEND_DIARY,
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    DIARY_COUNT,
    DIARY_V0,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY_DIARY,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    letters,
)
from ticking import Asked, Daemon, flat

from assets.support.keys import address_of
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.tagger import Tagger

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning"),  # Dagster's own
]

NOTHING: Asked = set()


def everything(*snapshots: str) -> Asked:
    made = (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1, BLEND_LETTERS)
    return {(address, snapshot) for address in made for snapshot in snapshots}


def test_a_new_snapshot_goes_from_raw_to_tokens_and_indexes_once(daemon: Daemon) -> None:
    daemon.works.raw(letters(4, 5), snapshot="2025")
    daemon.works.arrive()
    waves = daemon.settle()
    asked = flat(waves)
    slices = everything("2025") | {(TINY_LETTERS, "2025")}
    assert {each for each in asked if each[1]} == slices
    assert {each for each in asked if not each[1]} == {(BLEND_INDEX, None), (TINY_INDEX, None)}
    assert [each for each in asked if each[1]] == sorted(slices, key=str)  # each of them once
    assert daemon.tick() == NOTHING
    assert daemon.works.ids(BLEND_LETTERS, snapshot="2025") == ["letter-4", "letter-5"]


def test_an_idle_lake_asks_for_nothing(daemon: Daemon) -> None:
    assert [daemon.tick() for _ in range(3)] == [NOTHING] * 3
    daemon.works.arrive()
    assert daemon.tick() == NOTHING


def test_a_changed_snapshot_is_made_again_and_the_others_are_not(daemon: Daemon) -> None:
    daemon.works.raw(letters(4, 5), snapshot="2025")
    daemon.works.arrive()
    daemon.settle()
    daemon.works.raw(letters(1, 2, 3, 6))
    daemon.works.arrive()
    asked = flat(daemon.settle())
    assert {snapshot for _, snapshot in asked} == {"2024", None}
    assert daemon.works.ids(BLEND_LETTERS) == ["letter-2", "letter-3", "letter-6"]


@pytest.mark.slow
def test_a_snapshot_whose_raw_is_missing_does_not_keep_the_others_waiting(daemon: Daemon) -> None:
    daemon.works.know("2031")
    daemon.works.raw(letters(4, 5), snapshot="2025")
    daemon.works.arrive()
    asked = flat(daemon.settle())
    assert {snapshot for _, snapshot in asked} == {"2025", None}
    assert (TINY_INDEX, None) in asked


def test_a_new_tagger_looks_at_old_snapshots_and_at_each_once(daemon: Daemon) -> None:
    works = daemon.works
    works.raw(letters(4, 5), snapshot="2025")
    works.arrive()
    daemon.settle()
    known = works.catalogue
    again = Tagger(name="count-2", document=known.taggers["count-1"].document)
    taggers = {**known.taggers, "count-2": again}
    works.load(Catalogue(known.sources, taggers, known.mixes, known.tokenizers))
    asked = daemon.tick()
    new = {("sources/letters/v1/attributes/count-2", snapshot) for snapshot in ("2024", "2025")}
    assert {each for each in asked if each[0].startswith("sources/letters/")} == new
    assert daemon.tick() == NOTHING  # requested once, whatever became of it


@pytest.mark.slow
def test_a_second_source_joins_the_mix(daemon: Daemon) -> None:
    daemon.works.raw(letters(7, 8, source="diary"), source="diary")
    daemon.works.arrive()
    asked = flat(daemon.settle())
    slices = {(address, "2024") for address in (DIARY_V0, DIARY_COUNT, BLEND_DIARY, TINY_DIARY)}
    assert {each for each in asked if each[1]} == slices
    assert (BLEND_INDEX, None) in asked


@pytest.mark.slow
def test_without_a_tokenizer_everything_but_its_caches_is_made(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive()
    daemon = Daemon(works)
    asked = flat(daemon.settle())
    assert set(asked) == everything("2024") | {(BLEND_INDEX, None)}
    assert works.run("tiny_1_train", None).success
    asked = flat(daemon.settle())
    assert (TINY_LETTERS, "2024") in asked
    assert (TINY_INDEX, None) in asked
    assert not {address for address, _ in asked} & {LETTERS_V0, BLEND_LETTERS}


def test_an_empty_lake_asks_for_nothing(works: Works) -> None:
    daemon = Daemon(works)
    works.arrive()
    assert [daemon.tick() for _ in range(2)] == [NOTHING] * 2


def test_a_tokenizer_and_a_packing_plan_are_never_asked_for(daemon: Daemon) -> None:
    graph = daemon.works.definitions.resolve_asset_graph()
    without = {address_of(k) for k in graph.get_all_asset_keys() if graph.get(k).automation_condition is None}
    by_hand = {"lake", "tokenizers/tiny-1", "token_caches/blend/tiny-1/index/packing", "mixes/blend/preview"}
    assert without == {*by_hand, "sources/letters/raw", "sources/diary/raw"}
