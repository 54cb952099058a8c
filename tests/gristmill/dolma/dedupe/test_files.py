from pathlib import Path

import pytest

from gristmill.dolma.dedupe.config import DedupeConfig
from gristmill.dolma.dedupe.files import compared_files
from gristmill.errors import RecipeError

NAMES = ("a/z.jsonl", "a-b.jsonl", "a/z/q.jsonl", "A.jsonl", "a.jsonl", "a/b/c.jsonl", "é.jsonl", "b.jsonl")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "documents/wiki/documents"  # the folder above is not part of a relative path
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    monkeypatch.chdir(tmp_path / "documents")
    return tmp_path


def found(*patterns: str, **options: object) -> list[tuple[str, str]]:
    files, _ = compared_files(DedupeConfig(patterns, "n", "dup", **options), {})  # type: ignore[arg-type]
    return [(file.output, file.name) for file in files]


@pytest.mark.usefixtures("home")
def test_files_come_by_pattern_then_folder_by_folder() -> None:
    names = [name for _, name in found("wiki/documents/b.jsonl", "wiki/documents/[!b]*.jsonl")]
    assert names == ["b.jsonl", "A.jsonl", "a-b.jsonl", "a.jsonl", "é.jsonl"]
    names = [name for _, name in found("wiki/documents/**/*.jsonl")]
    assert names == [
        *("A.jsonl", "a/b/c.jsonl", "a/z/q.jsonl", "a/z.jsonl", "a-b.jsonl", "a.jsonl", "b.jsonl", "é.jsonl"),
    ]


def test_the_folder_of_documents_becomes_that_of_the_attributes(home: Path) -> None:
    assert found("wiki/documents/b*") == [(f"{home}/documents/wiki/attributes/n", "b.jsonl")]
    assert found(f"{home}/documents/wiki/documents/b*") == [(f"{home}/attributes/n", "wiki/attributes/n/b.jsonl")]
    assert found("wiki/documents/b*", partitions=3, partition=2)[0][0].endswith("wiki/attributes/n_2")
    assert found("wiki/documents/a/b/*", document_dir="a") == [
        (f"{home}/documents/wiki/documents/attributes/n", "b/c.jsonl")
    ]


@pytest.mark.usefixtures("home")
def test_what_is_not_clear_is_refused() -> None:
    with pytest.raises(RecipeError, match="two entries of documents match it"):
        found("wiki/documents/b.jsonl", "wiki/documents/*.jsonl")
    with pytest.raises(RecipeError, match="no folder is named 'docs'"):
        found("wiki/documents/b.jsonl", document_dir="docs")
    with pytest.raises(RecipeError, match="no file matches"):
        found("wiki/documents/none*")
