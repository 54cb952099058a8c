from pathlib import Path

import pytest

from gristmill.peeking.layouts import code_files_options, dolma_datasets, hub_options, oscar_options
from gristmill.readers.hugging_face import data_files
from gristmill.readers.oscar.lines import CHECKSUMS

ROOT = Path("data")


def paths(*names: str) -> list[Path]:
    return [ROOT / name for name in names]


def test_a_dataset_of_dolma_has_documents_and_attributes() -> None:
    found = paths("documents/a.gz", "attributes/pii/a.gz", "attributes/tox/x/a.gz")
    assert dolma_datasets(ROOT, found) == {ROOT: ("pii", "tox")}
    assert dolma_datasets(ROOT, paths("v0/documents/a.gz", "v0/attributes/pii/a.gz")) == {ROOT / "v0": ("pii",)}
    assert dolma_datasets(ROOT, paths("documents/a.gz", "other/a.gz")) == {}


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["README.md", "mill/a.py", "mill/b.py"], {"repository": "data", "folders": 0}),
        (["one/README.md", "one/a.py", "two/b/c.rs"], {"folders": 1}),
        (["ann/one/a.py", "ben/two/b/c.rs"], {"folders": 2}),
        (["a.md", "b.md", "c.py"], None),
        ([], None),
    ],
)
def test_a_tree_of_programs_is_one_repository_or_several(names: list[str], options: dict[str, object] | None) -> None:
    assert code_files_options(ROOT, paths(*names)) == options


def test_a_dataset_of_the_hub_has_a_card(tmp_path: Path) -> None:
    names = ["data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"]
    assert hub_options(tmp_path, names) == {}
    (tmp_path / "README.md").write_text("---\nlicense: cc0-1.0\n---\n# Mills\n")
    found = hub_options(tmp_path, names)
    assert (found["select"].text(), found["select"].made()) == ('data_files("train")', data_files("train"))
    assert found["licence"] == "cc0-1.0"
    assert hub_options(tmp_path, ["a.parquet"]) == {}


def test_a_release_of_oscar_has_languages_and_checksums() -> None:
    found = oscar_options(["en/en.jsonl.gz", "fr/fr.jsonl.gz"], ["en/en_sha256.txt"])
    assert (found["partition"].text(), found["checksums"]) == ("Everything()", CHECKSUMS)
    assert oscar_options(["2301/en/en.jsonl.gz"], ["README.md"]) == {}
