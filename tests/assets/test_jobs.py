from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_DIARY, BLEND_INDEX, BLEND_LETTERS, JOURNEY, SHELVES, TINY, TINY_INDEX, TINY_LETTERS
from dagster_kit import environment_of as environment

from assets.support.keys import address_of
from definitions import build
from gristmill.recipes.catalogue import Catalogue, read_catalogue


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(SHELVES)


def load(catalogue: Catalogue) -> dg.Definitions:
    return build(environment(Path("nowhere"), more_jobs=True), catalogue)


@pytest.fixture(scope="module")
def definitions(catalogue: Catalogue) -> dg.Definitions:
    return load(catalogue)


@pytest.mark.parametrize(
    ("job", "addresses"),
    [
        ("letters_journey", set(JOURNEY)),
        ("blend_letters_refresh", {BLEND_LETTERS, TINY_LETTERS}),
        ("blend_letters_documents", {BLEND_LETTERS}),
        ("blend_index", {BLEND_INDEX, TINY_INDEX}),
        ("tiny_1_train", {TINY}),
    ],
)
def test_a_job_makes_what_its_name_says(definitions: dg.Definitions, job: str, addresses: set[str]) -> None:
    selected = definitions.resolve_job_def(job).asset_layer.executable_asset_keys
    assert {address_of(key) for key in selected} == addresses


def test_documents_alone_are_a_job_for_streams_that_a_tokenizer_trains_on(catalogue: Catalogue) -> None:
    names = {job.name for job in load(catalogue).resolve_all_job_defs()}
    assert "blend_letters_documents" in names
    assert "blend_diary_documents" not in names
    tokenizer = catalogue.tokenizers["tiny-1"]
    assert tokenizer.training is not None
    wider = replace(tokenizer.training, snapshots={"letters": ("2024",), "diary": ("2024",)})
    more = replace(catalogue, tokenizers={"tiny-1": replace(tokenizer, training=wider)})
    job = load(more).resolve_job_def("blend_diary_documents")
    assert {address_of(key) for key in job.asset_layer.executable_asset_keys} == {BLEND_DIARY}


def test_jobs_of_streams_and_audits_of_a_source_are_listed_where_a_person_asks_for_them(
    catalogue: Catalogue, definitions: dg.Definitions
) -> None:
    without = {job.name for job in build(environment(Path("nowhere")), catalogue).resolve_all_job_defs()}
    assert {job.name for job in definitions.resolve_all_job_defs()} - without == {
        "blend_letters_documents",
        "blend_letters_refresh",
        "blend_diary_refresh",
        "letters_audits",
        "diary_audits",
    }
