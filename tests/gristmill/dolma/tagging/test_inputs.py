"""No command of `dolma` replaces or removes a file that it reads, in the first run as in later ones."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.dolma.tagging.inputs import Inputs
from gristmill.errors import RecipeError

Told = Callable[[], str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("0", "1"):
        path = tmp_path / f"wiki/documents/{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(b'{"id":"%s","text":"one","source":"s"}\n' % name.encode(), mtime=0))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    return lambda: capsys.readouterr().err


def contents(home: Path) -> dict[str, bytes]:
    paths = (path for path in home.rglob("*") if path.is_file() and path.suffix != ".json")
    return {str(path.relative_to(home)): path.read_bytes() for path in paths}


def mix(documents: str, path: str, name: str = "s", *words: str) -> int:
    stream = {"name": name, "documents": [documents], "output": {"path": path}}
    Path("c.json").write_text(json.dumps({"streams": [stream]}))
    return main(["dolma", "mix", "-c", "c.json", *words])


def refused(home: Path, told: Told, run: Callable[..., int], words: str) -> None:
    before = contents(home)
    for force in ((), ("--force",)):
        assert run(*force) == 2
        assert words in told()
        assert contents(home) == before


def test_force_does_not_remove_an_output_that_is_now_read(home: Path, told: Told) -> None:
    assert mix("wiki/documents/*.gz", "mixed", "c4") == 0
    before = contents(home)
    assert mix("mixed/c4-*.gz", "mixed", "clean") == 2
    assert mix("mixed/c4-*.gz", "mixed", "clean", "--force") == 2
    assert f"{home}/mixed/c4-0000.json.gz: an earlier run wrote this file here, and now it is read" in told()
    assert contents(home) == before
    assert mix("mixed/c4-*.gz", "clean", "clean") == 0
    assert "clean/clean-0000.json.gz" in contents(home)


@pytest.mark.parametrize("pattern", ["wiki/documents/*.gz", "wiki/documents", "wiki/**/*.gz", "link/*", "wiki/**"])
def test_a_first_mix_into_the_folder_that_it_reads_is_refused(home: Path, told: Told, pattern: str) -> None:
    (home / "link").symlink_to("wiki/documents")
    words = f"{pattern} matches this output, so the next run would read it"
    refused(home, told, lambda *force: mix(pattern, "wiki/documents", "s", *force), words)


def test_a_stream_does_not_read_what_another_writes(home: Path, told: Told) -> None:
    first = {"name": "a", "documents": ["wiki/documents/*"], "output": {"path": "mixed"}}
    second = {"name": "b", "documents": ["wiki/documents/0.gz", "mixed/a-*"], "output": {"path": "clean"}}
    Path("c.json").write_text(json.dumps({"streams": [first, second]}))
    words = "mixed/a-0000.json.gz: mixed/a-* matches this output"
    refused(home, told, lambda *force: main(["dolma", "mix", "-c", "c.json", *force]), words)


def test_attributes_that_the_pattern_of_documents_matches_are_refused(home: Path, told: Told) -> None:
    tag = ["dolma", "tag", "--documents", "wiki/*/*.gz", "--taggers", "char_length_v1", "--destination", "wiki/labels"]
    refused(home, told, lambda *force: main([*tag, *force]), "wiki/*/*.gz matches this output")
    Path("d.json").write_text(
        json.dumps({"documents": ["wiki/**/*.gz"], "dedupe": {"name": "d", "paragraphs": {"attribute_name": "a"}}})
    )
    dedupe = ["dolma", "dedupe", "-c", "d.json"]
    refused(home, told, lambda *force: main([*dedupe, *force]), "wiki/**/*.gz matches this output")


@pytest.mark.parametrize("read_only", [True, False])
def test_attributes_and_the_keys_of_a_dedupe_never_replace_each_other(
    home: Path, told: Told, *, read_only: bool
) -> None:
    dedupe = {"name": "d", "paragraphs": {"attribute_name": "a"}}
    file = "wiki/attributes/d/0.gz"
    config = {
        "documents": ["wiki/documents/*.gz"],
        "dedupe": dedupe,
        "bloom_filter": {"file": file, "read_only": read_only},
    }
    Path("d.json").write_text(json.dumps(config))
    (home / "wiki/attributes/d").mkdir(parents=True)
    (home / file).write_bytes(b"keys")
    words = "wiki/attributes/d/0.gz: an output would replace this file, which is read"
    refused(home, told, lambda *force: main(["dolma", "dedupe", "-c", "d.json", *force]), words)


@pytest.mark.parametrize(
    ("pattern", "output", "read"),
    [
        ("d/*.gz", "d/s.gz", True),
        ("d/*.gz", "d/new/s.gz", False),
        ("d/**/*.gz", "d/new/er/s.gz", True),
        ("d/**/*.gz", "d/.new/s.gz", False),
        ("d/**/*.gz", "d/.s.gz", False),
        ("d/.new/*.gz", "d/.new/s.gz", True),
        ("d/*/new/*.gz", "e/new/s.gz", True),  # by d/link
        ("d/**/s.gz", "e/new/er/s.gz", True),
        ("d/*/new/*.gz", "f/new/s.gz", False),
        ("s.gz", "s.gz", True),
        ("late", "late/s.gz", True),
        ("late/", "later/s.gz", False),
        ("/*.gz", "/s.gz", True),
        ("s3://b/d/*.gz", "s3://b/d/s.gz", True),
        ("s3://b/d", "s3://b/d/s.gz", True),
        ("s3://b/*.gz", "s3://b/d/s.gz", False),
        ("s3://b/d/*.gz", "s3://c/d/s.gz", False),
    ],
)
def test_what_a_pattern_will_match(home: Path, pattern: str, output: str, *, read: bool) -> None:
    for folder in ("d", "e", "f"):
        (home / folder).mkdir()
    (home / "d/link").symlink_to("../e")
    root, _, name = (output if "://" in output else os.path.abspath(output)).rpartition("/")  # noqa: PTH100 - as given
    inputs = Inputs([], [pattern])
    if not read:
        inputs.check_written([(root, name)])
        return
    with pytest.raises(RecipeError, match="matches this output"):
        inputs.check_written([(root, name)])
