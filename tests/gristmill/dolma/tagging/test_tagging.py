"""Runs of `dolma tag`: what they write, and what they do after a kill, an edit or a change."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gristmill.dolma.tagging.config import TagConfig
from gristmill.dolma.tagging.file_run import FilePlan
from gristmill.dolma.tagging.records import MANIFEST
from gristmill.dolma.tagging.tagging import plan_tagging, run_tagging
from gristmill.errors import DataError, GristmillError, RecipeError
from gristmill.execution.runner import Inline

TEXTS = {"a/0": ["To be.", "Or not\nto be"], "a/1": [""], "b/0": ["That"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, texts in TEXTS.items():
        write(tmp_path / "documents" / f"{name}.json.gz", texts)
    return tmp_path


def write(path: Path, texts: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"id": f"{number}", "text": text, "source": "s"}) for number, text in enumerate(texts)]
    path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode(), mtime=0))


def config(home: Path, *taggers: str, experiment: str | None = "e") -> TagConfig:
    return TagConfig((f"{home}/documents/*/*.gz",), taggers or ("char_length_v1",), experiment)


def tag(given: TagConfig, *, force: bool = False) -> FilePlan:
    plan = plan_tagging(given, {}, force=force)
    run_tagging(plan, Inline(), {}, lambda _: None)
    return plan


def rows(path: Path) -> list[object]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def contents(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.glob("attributes/**/*.gz")}


def test_attributes_lie_beside_the_documents_with_dolmas_keys(home: Path) -> None:
    plan = tag(config(home, "char_length_v1", "doc_count_v1"))
    assert (len(plan.items), plan.done_count) == (3, 0)
    assert rows(home / "attributes/e/a/0.json.gz") == [
        {
            "id": str(number),
            "attributes": {
                "e__char_length_v1__length": [[0, length, float(length)]],
                "e__doc_count_v1__docs": [[0, length, 1.0]],
            },
            "source": "s",
        }
        for number, length in enumerate((6, 12))
    ]
    assert sorted(contents(home)) == [f"attributes/e/{name}.json.gz" for name in TEXTS]


def test_without_an_experiment_each_tagger_has_a_folder(home: Path) -> None:
    tag(config(home, "char_length_v1", "doc_count_v1", experiment=None))
    assert len(contents(home)) == 6
    (row,) = rows(home / "attributes/doc_count_v1/b/0.json.gz")
    assert row == {"id": "0", "attributes": {"doc_count_v1__doc_count_v1__docs": [[0, 4, 1.0]]}, "source": "s"}


def test_what_is_done_is_not_done_again(home: Path) -> None:
    tag(config(home))
    manifest = json.loads((home / "attributes/e" / MANIFEST).read_text())
    assert sorted(manifest["files"]) == [f"{name}.json.gz" for name in TEXTS]
    again = tag(config(home))
    assert (len(again.items), again.done_count) == (0, 3)
    write(home / "documents/a/2.json.gz", ["new"])
    assert len(tag(config(home)).items) == 1
    assert len(tag(replace(config(home), ignore_existing=True)).items) == 4
    assert tag(config(home)).done_count == 4


def test_changed_documents_are_tagged_again(home: Path) -> None:
    tag(config(home))
    write(home / "documents/b/0.json.gz", ["Another"])
    assert [item.name for item in tag(config(home)).items] == [f"{home}/documents/b/0.json.gz"]
    assert "[[0,7,7.0]]" in gzip.decompress((home / "attributes/e/b/0.json.gz").read_bytes()).decode()


def test_other_taggers_need_another_experiment(home: Path) -> None:
    tag(config(home))
    before = contents(home)
    with pytest.raises(RecipeError, match=r"the taggers char_length_v1; now they are 'e' and bytes_length_v1"):
        tag(config(home, "bytes_length_v1"))
    assert contents(home) == before
    tag(config(home, "bytes_length_v1"), force=True)
    assert contents(home) != before
    assert tag(config(home, "bytes_length_v1")).done_count == 3


def test_a_run_with_other_taggers_that_came_between_looking_and_writing_is_noticed(home: Path) -> None:
    slow = plan_tagging(config(home, "bytes_length_v1"), {})
    tag(config(home))
    before = contents(home)
    with pytest.raises(RecipeError, match=r"the taggers char_length_v1; now they are 'e' and bytes_length_v1"):
        run_tagging(slow, Inline(), {}, lambda _: None)
    assert contents(home) == before
    assert not list(home.rglob("runs/*"))


def test_a_file_of_somebody_else_is_not_replaced(home: Path) -> None:
    foreign = home / "attributes/e/a/0.json.gz"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"theirs")
    with pytest.raises(DataError, match=r"attributes/e/a/0.json.gz; give another experiment"):
        tag(config(home))
    assert contents(home) == {"attributes/e/a/0.json.gz": b"theirs"}
    tag(config(home), force=True)
    foreign.write_bytes(b"edited")
    with pytest.raises(DataError, match="changed since"):
        tag(config(home))


@pytest.mark.parametrize("destination", ["documents", "new/../documents", "link", "./documents/a/.."])
def test_documents_are_never_replaced_by_attributes(home: Path, destination: str) -> None:
    (home / "link").symlink_to("documents")
    before = contents(home)
    for force in (False, True):
        with pytest.raises(RecipeError, match=r"documents/a/0.json.gz: an output would replace this file"):
            tag(replace(config(home), destination=(f"{home}/{destination}",)), force=force)
    assert contents(home) == before


def test_documents_of_another_pattern_or_behind_a_link_are_not_replaced_either(home: Path) -> None:
    write(home / "x/documents/0.json.gz", ["x"])
    write(home / "y/documents/0.json.gz", ["y"])
    crossed = TagConfig(
        (f"{home}/x/documents/*", f"{home}/y/documents/*"),
        ("char_length_v1",),
        "e",
        destination=(f"{home}/y/documents", f"{home}/x/documents"),
    )
    (home / "x/attributes").mkdir()
    (home / "x/attributes/char_length_v1").symlink_to("../documents")
    linked = TagConfig((f"{home}/x/documents/*",), ("char_length_v1",), None)
    for given in (crossed, linked):
        with pytest.raises(RecipeError, match="would replace this file, which is read"):
            tag(given, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_link_into_the_raw_data_of_a_lake(home: Path, *, force: bool) -> None:
    raw = home / "lake/sources/talks/raw/2024"
    write(raw / "a/0.json.gz", ["raw"])
    before = {path: path.read_bytes() for path in raw.rglob("*.gz")}
    (home / "attributes").mkdir()
    (home / "attributes/e").symlink_to(raw)
    with pytest.raises(RecipeError, match=r"attributes/e: a link leads to .*/raw/2024, the raw data of a lake"):
        tag(config(home), force=force)
    assert {path: path.read_bytes() for path in raw.rglob("*.gz")} == before
    assert sorted(path.name for path in raw.iterdir()) == ["a"]


def test_an_edited_manifest_proves_nothing(home: Path) -> None:
    tag(config(home))
    manifest = home / "attributes/e" / MANIFEST
    for forged in (manifest.read_text().replace('"rows": 1', '"rows": 7'), "{}", "no JSON"):
        manifest.write_text(forged)
        with pytest.raises(DataError, match=r"manifest.json: .*run with --force"):
            tag(config(home))
    tag(config(home), force=True)
    assert tag(config(home)).done_count == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b'{"id":"1","text":"a"}\n' * 9, mtime=0)[:-9], r"b/0.json.gz: .*truncated"),
        (gzip.compress(b'{"id":"1","text":"a"}\n{"id":"2"}\n', mtime=0), r"b/0.json.gz: row 1: .*`text`"),
        (gzip.compress(b'{"id":"1","text":"a"}\n{"id":', mtime=0), r"b/0.json.gz: row 1: "),
        (b"not gzip", r"b/0.json.gz: "),
    ],
    ids=["truncated", "no-text", "no-json", "no-gzip"],
)
def test_a_bad_file_is_named_and_has_no_attributes_and_the_others_are_kept(home: Path, data: bytes, words: str) -> None:
    (home / "documents/b/0.json.gz").write_bytes(data)
    with pytest.raises(GristmillError, match=words):
        tag(config(home))
    assert sorted(contents(home)) == ["attributes/e/a/0.json.gz", "attributes/e/a/1.json.gz"]
    write(home / "documents/b/0.json.gz", ["mended"])
    assert [item.name for item in tag(config(home)).items] == [f"{home}/documents/b/0.json.gz"]


@pytest.mark.slow
def test_after_a_kill_the_same_command_gives_the_same_bytes(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for number in range(20):
        write(home / f"documents/c/{number}.json.gz", ["words and words " * 300] * 4)
    command = [sys.executable, "-m", "gristmill", "dolma", "tag", "--documents", f"{home}/documents/*/*.gz"]
    words = ["--taggers", "gopher_v1", "--experiment", "e"]
    process = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, cwd=tmp_path_factory.mktemp("here"))
    while process.poll() is None and len(contents(home)) < 2:
        time.sleep(0.01)
    process.kill()
    process.wait()
    killed = contents(home)
    tag(config(home, "gopher_v1"))
    whole = contents(home)
    assert len(whole) == 23
    assert {name: whole[name] for name in killed} == killed
    tag(replace(config(home, "gopher_v1"), ignore_existing=True))
    assert contents(home) == whole
