import pytest
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    COUNT_V0,
    DIARY_COUNT,
    DIARY_V0,
    LETTERS_V0,
    TINY,
    TINY_LETTERS,
    Works,
    letters,
)

from assets.support.keys import key_of
from assets.support.runs.in_process import execute_in_process
from assets.support.runs.tags import asset_tags, run_tags
from sensors.following.units import units_of


@pytest.mark.parametrize(
    ("address", "tags"),
    [
        ("sources/letters/raw", {"source": "letters", "layer": "raw"}),
        (LETTERS_V0, {"source": "letters", "layer": "documents"}),
        (COUNT_V0, {"source": "letters", "layer": "attributes"}),
        (BLEND_INDEX, {"mix": "blend", "layer": "mix"}),
        (TINY, {"layer": "tokenizer"}),
        ("blocklists/takedowns", {}),
    ],
)
def test_an_asset_has_the_tags_of_its_address(address: str, tags: dict[str, str]) -> None:
    assert asset_tags(address) == {f"gristmill/{key}": value for key, value in tags.items()}


def test_a_slice_has_the_source_of_its_snapshots(works: Works) -> None:
    tags = works.definitions.resolve_asset_graph().get(key_of(TINY_LETTERS)).tags
    assert {key: value for key, value in tags.items() if key.startswith("gristmill/")} == {
        "gristmill/source": "letters",
        "gristmill/mix": "blend",
        "gristmill/layer": "tokens",
    }


def test_a_value_that_dagster_refuses_as_a_tag_is_left_out() -> None:
    assert asset_tags(f"sources/{'a' * 64}/raw") == {"gristmill/layer": "raw"}


def test_a_run_over_several_assets_names_each_value_once() -> None:
    assert run_tags([DIARY_V0, DIARY_COUNT, LETTERS_V0, BLEND_LETTERS], {BLEND_LETTERS: "letters"}) == {
        "gristmill/source": "diary, letters",
        "gristmill/mix": "blend",
        "gristmill/layer": "documents, attributes, mix",
    }


def test_named_jobs_and_automation_give_their_runs_tags(works: Works) -> None:
    tags = works.definitions.resolve_job_def("letters_journey").run_tags
    assert tags == {"gristmill/source": "letters", "gristmill/layer": "documents, attributes"}
    assert {unit.name: unit.tags for unit in units_of(works.catalogue)} == {
        "letters": {"gristmill/source": "letters"},
        "diary": {"gristmill/source": "diary"},
        "all/indexes": {},
    }


@pytest.mark.slow
def test_a_run_that_a_person_asks_for_gets_its_tags_when_it_is_planned(works: Works) -> None:
    works.raw(letters(1, 2))
    works.arrive("letters")
    job = works.definitions.resolve_implicit_global_asset_job_def()
    execute_in_process(works.instance, job, "2024", {}, [key_of(LETTERS_V0), key_of(COUNT_V0)])
    (run,) = works.instance.get_runs()
    assert {key: value for key, value in run.tags.items() if key.startswith("gristmill/")} == {
        "gristmill/source": "letters",
        "gristmill/layer": "documents, attributes",
        "gristmill/makes/sources/letters/v0/attributes/count-1": "",  # together with its input
    }


@pytest.mark.slow
def test_a_run_of_an_asset_without_a_step_gets_its_tags_too(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    works.whole()
    job = works.definitions.resolve_implicit_global_asset_job_def()
    for address, tags in (
        (TINY, {"gristmill/layer": "tokenizer"}),
        (BLEND_INDEX, {"gristmill/mix": "blend", "gristmill/layer": "mix"}),
    ):
        execute_in_process(works.instance, job, None, {}, [key_of(address)])
        run = works.instance.get_runs(limit=1)[0]
        assert {key: value for key, value in run.tags.items() if key.startswith("gristmill/")} == tags
