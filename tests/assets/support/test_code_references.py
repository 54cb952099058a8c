from pathlib import Path

import dagshelf
import dagster as dg
import pytest
from dagster_kit import BLEND_INDEX, COUNT_V1, LETTERS_V1, SHELVES, TINY, TINY_LETTERS

from assets.support.code_references import CodeReferences
from gristmill.recipes.catalogue import Catalogue, read_catalogue

FOLDER = Path(dagshelf.__path__[0])


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(SHELVES)


def sources(references: CodeReferences, address: str) -> list[str]:
    found = references.metadata(address).get("dagster/code_references")
    return [each.source for each in found.code_references] if found else []


def test_an_asset_names_the_files_of_its_recipes_on_the_git_server(catalogue: Catalogue) -> None:
    base = "https://git.example.org/corpus/blob/main"
    references = CodeReferences(catalogue, str(FOLDER), base)
    for address, files in {
        "sources/letters/raw": ["sources/letters.py"],
        LETTERS_V1: ["sources/letters.py"],
        COUNT_V1: ["taggers/count.py", "sources/letters.py"],
        "mixes/blend/documents/letters": ["mixes/blend.py"],
        BLEND_INDEX: ["mixes/blend.py"],
        TINY_LETTERS: ["mixes/blend.py", "tokenizers/tiny.py"],
        TINY: ["tokenizers/tiny.py"],
        "sources/unknown/raw": [],
    }.items():
        assert sources(references, address) == [f"{base}/{file}" for file in files], address


def test_without_an_address_and_outside_of_the_project_files_are_named_as_they_lie_here(catalogue: Catalogue) -> None:
    here = [str(FOLDER.resolve() / "sources" / "letters.py")]
    assert sources(CodeReferences(catalogue, str(FOLDER), ""), LETTERS_V1) == here
    elsewhere = CodeReferences(catalogue, str(FOLDER / "taggers"), "https://git.example.org")
    assert sources(elsewhere, LETTERS_V1) == here
    spec = elsewhere.of_spec(dg.AssetSpec("models/none", metadata={"kept": 1}))
    assert spec.metadata["kept"] == 1


def test_a_preview_names_the_file_of_its_mix(catalogue: Catalogue) -> None:
    spec = dg.AssetSpec(["mixes", "blend", "preview"], tags={"gristmill/mix": "blend"})
    metadata = CodeReferences(catalogue, str(FOLDER), "").of_spec(spec).metadata
    (file,) = metadata["dagster/code_references"].code_references
    assert file.source == str(FOLDER.resolve() / "mixes" / "blend.py")
