"""A watched folder is prepared as by the command, again and again, and what people have edited stays."""

from pathlib import Path
from typing import Any

import pytest
from tarfolder import contents, write_shards, write_tar

from gristmill.__main__ import main
from gristmill.energon.preparing.flaw import Flaw
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.energon.watching.prepare import FolderPrepared, open_watched, prepare_folder
from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.open import Lake


def prepared(path: Path, told: list[Flaw] | None = None, **options: Any) -> FolderPrepared:
    folder = WatchedFolder(name="tars", path=str(path), **options)
    dataset = open_watched(folder, Lake(str(path.parent / "lake")))
    return prepare_folder(folder, dataset, 1, (told if told is not None else []).append)


def by_command(path: Path, *words: str) -> dict[str, bytes]:
    assert main(["energon", "prepare", str(path), *words, "--num-workers", "1", "--no-progress"]) == 0
    return contents(path)


def test_it_makes_what_the_command_makes_and_again_when_tars_arrive(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for number in (2, 4):
        write_shards(here, number)
        write_shards(there, number)
        made = prepared(here, split_ratio=(2, 1, 1), media_by_extension=True)
        assert (made.files, made.samples) == (number, 3 * number)
        options = ("--split-ratio", "2,1,1", "--media-metadata", "--media-by-extension", "--force-overwrite")
        assert contents(here) == by_command(there, *options)
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    prepared(here, split_ratio=(2, 1, 1), media_by_extension=True)
    assert {path: path.stat().st_mtime_ns for path in here.rglob("*")} == before


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("split.yaml", lambda text: text.replace(b"exclude: []", b"exclude: [shards/0.tar]")),
        ("split.yaml", lambda _: b"{"),
        ("dataset.yaml", lambda text: text + b"# mine\n"),
    ],
)
def test_what_a_person_has_edited_is_kept_and_named(tmp_path: Path, name: str, edit: Any) -> None:
    path = tmp_path / "tars"
    write_shards(path, 2)
    typed: dict[str, Any] = {"sample_type": "TextSample", "field_map": {"text": "txt"}}
    prepared(path, split_ratio=(1, 0, 0), **typed)
    file = path / ".nv-meta" / name
    file.write_bytes(edit(file.read_bytes()))
    write_shards(path, 3)
    before = contents(path)
    said = rf"^watched folder 'tars' at .*tars: \.nv-meta/{name}: it is there with another content"
    with pytest.raises(RecipeError, match=said):
        prepared(path, split_ratio=(1, 0, 0), **typed)
    assert contents(path) == before
    assert prepared(path, split_ratio=(1, 0, 0), force_overwrite=True, **typed).files == 3
    assert contents(path)[f".nv-meta/{name}"] != before[f".nv-meta/{name}"]


def test_a_truncated_tar_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "tars"
    whole = write_shards(path, 2)[1]
    prepared(path, split_ratio=(1, 0, 0))
    data = whole.read_bytes()
    whole.write_bytes(data[:700])
    before = contents(path)
    told: list[Flaw] = []
    with pytest.raises(DataError, match=r"tars: shards/1\.tar: .*; nothing was written$"):
        prepared(path, told, split_ratio=(1, 0, 0))
    assert [flaw.path for flaw in told] == ["shards/1.tar"]
    assert contents(path) == before


def test_a_folder_of_json_lines_has_an_index_for_each_good_file(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for name, text in (("a.jsonl", '{"n": 1}\n{"n": 2}\n'), ("deep/b.jsonl", '{"n": 3}\n'), ("c.jsonl", '{"n": 1}\n{')):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    with pytest.raises(DataError, match=r"lines: c\.jsonl: line 2: .*; these files have no new index"):
        prepared(path)
    assert [name for name in contents(path) if name.endswith(".idx")] == ["a.jsonl.idx", "deep/b.jsonl.idx"]
    (path / "c.jsonl").write_text('{"n": 4}\n')
    assert prepared(path) == FolderPrepared(3, 4, 0, [])
    with pytest.raises(RecipeError, match=r"split_ratio is given, but .*lines has JSONL files and no tar"):
        prepared(path, split_ratio=(1, 0, 0))


def test_a_folder_that_has_lost_its_tars_is_an_error_and_keeps_its_indexes(tmp_path: Path) -> None:
    path = tmp_path / "tars"
    tars = write_shards(path, 1)
    prepared(path, split_ratio=(1, 0, 0))
    tars[0].unlink()
    before = contents(path)
    with pytest.raises(RecipeError, match="no tar is there"):
        prepared(path, split_ratio=(1, 0, 0))
    assert contents(path) == before


def test_code_and_paths_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "tars"
    write_tar(path / "0.tar", {"../../k.txt": b"1"})
    (path / ".nv-meta").mkdir()
    (path / ".nv-meta" / "sample_loader.py").write_text("raise SystemExit(3)")
    (path / ".nv-meta" / "dataset.yaml").write_text("__module__: os\n__class__: system\n")
    assert prepared(path, split_ratio=(1, 0, 0)).samples == 1
    assert {each.name for each in tmp_path.iterdir()} == {"tars"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "tars"}, "path is 'tars'; give an absolute path, or s3://bucket/prefix"),
        ({"path": "/data/a.jsonl"}, "give the folder that holds the files"),
        ({"split_ratio": (0, 0, 0)}, r"split_ratio is \(0, 0, 0\); give the shares"),
        ({"split_ratio": (1, 0, float("nan"))}, "split_ratio is"),
        ({"split_ratio": (1, 0, 0), "split_parts": {"train": ".*"}}, "give split_ratio or split_parts, not both"),
        ({"split_parts": {"train": "("}}, r"split_parts\['train'\] is '\('; give a valid regular expression"),
        ({"exclude": "("}, r"exclude is '\('; give a valid regular expression"),
        ({"marker": "a/b"}, "marker is 'a/b'; give a file name, without folders"),
        ({"media_by_glob": "*.png", "media_by_header": True}, "media are selected in 2 ways"),
        ({"field_map": {"text": "txt"}}, "field_map needs a sample_type with fields"),
        ({"sample_type": "TextSample"}, "text"),
        ({"quiet": -1}, "quiet is -1"),
    ],
)
def test_a_recipe_that_is_not_valid_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=f"watched folder 'tars': .*{said}"):
        WatchedFolder(**{"name": "tars", "path": "/data/tars", **options})


@pytest.mark.parametrize("path", ["lake", "lake/exports/a", ""])
def test_a_folder_in_the_lake_or_around_it_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / path).mkdir(parents=True, exist_ok=True)
    folder = WatchedFolder(name="tars", path=str(tmp_path / path))
    with pytest.raises(RecipeError, match=r"one within the other; name a folder beside the lake"):
        open_watched(folder, Lake(str(tmp_path / "lake")))
