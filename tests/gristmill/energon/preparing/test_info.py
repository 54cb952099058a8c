"""What `info` and `preview` say of crude, typed and JSONL datasets: the real tool fails for crude ones."""

import json
from pathlib import Path

import pytest
from tarfolder import write_shards, write_tar

from gristmill.energon.formats.dataset_yaml import crude_dataset, typed_dataset
from gristmill.energon.formats.split import read_split
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.info import info_lines
from gristmill.energon.preparing.jsonl import prepare_jsonl
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars
from gristmill.energon.preparing.preview import preview_lines
from gristmill.errors import DataError, RecipeError


def prepared(folder: Path, dataset_yaml: bytes | None = None) -> Path:
    write_shards(folder)
    options = PrepareOptions(ratio={"train": 2, "val": 1, "test": 1}, dataset_yaml=dataset_yaml)
    assert prepare_tars(open_dataset(str(folder), {}), options, crude_dataset(), lambda _: None).written
    return folder


def info(path: Path) -> list[str]:
    return list(info_lines(open_dataset(str(path), {})))


def preview(path: Path, most: int) -> list[str]:
    return list(preview_lines(open_dataset(str(path), {}), most))


def test_a_crude_dataset_is_told_with_samples_and_splits(tmp_path: Path) -> None:
    prepared(tmp_path)
    # a tar of three samples of two blocks each, its end, filled up to 10,240 bytes
    assert info(tmp_path) == [
        f"{tmp_path}: WebDataset, 40,960 bytes",
        "samples  12 in 4 shards",
        "type     crude",
        "split    train: 6 samples (50.0 %) in 2 shards",
        "split    val: 3 samples (25.0 %) in 1 shards",
        "split    test: 3 samples (25.0 %) in 1 shards",
    ]


def test_what_the_loader_leaves_out_is_not_counted(tmp_path: Path) -> None:
    """Of three samples a shard: one of a shard of each split, a whole shard, and a sample of that shard."""
    path = prepared(tmp_path) / ".nv-meta" / "split.yaml"
    parts = read_split(path.read_bytes(), "split.yaml").split_parts
    (first, second), (val,) = parts["train"], parts["val"]
    out = [second, f"{first}/sample", f"{val}/sample", f"{second}/sample"]
    path.write_text(json.dumps({"split_parts": parts, "exclude": out}))
    assert info(tmp_path)[3:5] == [
        "split    train: 2 samples (16.7 %) in 2 shards",
        "split    val: 2 samples (16.7 %) in 1 shards",
    ]


def test_the_type_the_field_map_and_what_is_missing_are_told(tmp_path: Path) -> None:
    prepared(tmp_path, typed_dataset("TextSample", {"text": "txt"}))
    assert info(tmp_path)[2] == "type     megatron.energon.TextSample; field_map {'text': 'txt'}"
    (tmp_path / "shards" / "0.tar").unlink()
    assert info(tmp_path)[2] == "missing  1 shards: run lint"
    for name in ("dataset.yaml", "split.yaml"):
        (tmp_path / ".nv-meta" / name).unlink()
    assert info(tmp_path)[3:] == [
        "type     not known: there is no .nv-meta/dataset.yaml",
        "splits   no split file: run prepare",
    ]
    (tmp_path / ".nv-meta" / "dataset.yaml").write_text("a: 1\n")
    with pytest.raises(DataError, match="it names no class of samples"):
        info(tmp_path)


def test_a_jsonl_file_is_told_with_its_index_or_without(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    assert info(path)[:2] == [f"{path}: JSONL, 18 bytes", "samples  not known: run prepare"]
    prepare_jsonl(open_dataset(str(path), {}))
    assert info(path)[1:] == ["samples  2", "type     crude; every split has all samples"]


def test_the_first_samples_of_a_folder_are_shown_by_parts_across_shards(tmp_path: Path) -> None:
    write_tar(tmp_path / "0.tar", {"a.txt": b"one\ntwo", "a.bin": b"\x00\x01", "a.png": b"image"})
    write_tar(tmp_path / "1.tar", {"b.txt": b""})
    assert preview(tmp_path, 5) == [
        "sample 'a' (0.tar)",
        "  txt: one two",
        "  bin: 2 bytes, b'\\x00\\x01' ...",
        "  png: 5 bytes (image), b'image' ...",
        "sample 'b' (1.tar)",
        "  txt: ",
    ]
    assert preview(prepared(tmp_path / "more"), 1) == [
        "sample '0-0' (shards/0.tar)",
        '  txt: {"n": 0}',
        '  json: {"n": 0}',
    ]
    (tmp_path / "more" / "shards" / "0.tar").unlink()
    with pytest.raises(DataError, match="there is no such shard"):
        preview(tmp_path / "more", 1)


def test_the_first_lines_of_a_jsonl_file_are_shown_by_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"a": "caf\u00e9", "b": [1]}\n[2]\n{bad\n', encoding="utf-8")
    assert preview(path, 2) == ["sample 0", '  a: "caf\u00e9"', "  b: [1]", "sample 1", "  : [2]"]
    with pytest.raises(DataError, match=r"a\.jsonl: line 4: its JSON is not valid"):
        preview(path, 3)


def test_a_folder_of_files_has_no_samples_to_show(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    assert info(tmp_path) == [f"{tmp_path}: a folder of files"]
    with pytest.raises(RecipeError, match="a folder of files has no samples"):
        preview(tmp_path, 1)


def test_a_line_that_is_nested_too_deep_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    with pytest.raises(DataError, match=r"deep\.jsonl: line 1: its JSON is not valid"):
        preview(path, 1)


def test_an_index_that_is_no_database_is_named_as_the_dataset_has_it(tmp_path: Path) -> None:
    (prepared(tmp_path) / ".nv-meta" / "index.sqlite").write_bytes(b"no database")
    with pytest.raises(DataError, match=r"^\.nv-meta/index\.sqlite: not an index that can be read"):
        info(tmp_path)


def test_a_preview_shows_the_splits_that_are_named(tmp_path: Path) -> None:
    prepared(tmp_path)
    dataset = open_dataset(str(tmp_path), {})
    split = tmp_path / ".nv-meta" / "split.yaml"
    shown = [line for line in preview_lines(dataset, 1, ("val", "train")) if line.startswith("s")]
    assert shown == ["split 'val'", "sample '2-0' (shards/2.tar)", "split 'train'", "sample '0-0' (shards/0.tar)"]
    split.write_text(
        "split_parts: {train: ['shards/{0..1}.tar', ../x.tar], val: [shards/2.tar]}\nexclude: [shards/2.tar]\n"
    )
    assert list(preview_lines(dataset, 1, ("val",))) == ["split 'val' is empty"]
    with pytest.raises(DataError, match=r"names '\.\./x\.tar', which \.info\.json does not name"):
        list(preview_lines(dataset, 1, ("train",)))
    with pytest.raises(RecipeError, match="no split 'test'; give some of train, val"):
        list(preview_lines(dataset, 1, ("test",)))
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(RecipeError, match="it has no splits"):
        list(preview_lines(open_dataset(str(tmp_path / "a.jsonl"), {}), 1, ("train",)))
