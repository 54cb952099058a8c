"""The index and the findings of JSONL files."""

import struct
from pathlib import Path

import pytest
from tarfolder import contents

from gristmill.energon.preparing import jsonl as module
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.jsonl import JsonlScan, jsonl_samples, lint_jsonl, prepare_jsonl


def prepared(path: Path) -> JsonlScan:
    return prepare_jsonl(open_dataset(str(path), {}))


def linted(path: Path) -> list[str]:
    return [str(flaw) for flaw in lint_jsonl(open_dataset(str(path), {})).flaws]


def file_of(folder: Path, data: bytes, name: str = "a.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_the_index_has_the_start_of_each_line_and_the_size(tmp_path: Path) -> None:
    path = file_of(tmp_path, b'{"a": 1}\n\n{"b": "x.y"}\n', "a.b.jsonl")
    assert prepared(path).samples == 2
    assert struct.unpack("<3Q", (tmp_path / "a.b.jsonl.idx").read_bytes()) == (0, 10, 23)
    assert contents(tmp_path).keys() == {"a.b.jsonl", "a.b.jsonl.idx"}
    assert linted(path) == []
    assert jsonl_samples(open_dataset(str(path), {}).open_dataset_store(), path.name) == 2


def test_each_bad_line_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = file_of(tmp_path, b'{"a": 1}\n{not json}\n\n[1]\n{"b": 2}\n')
    scan = prepared(path)
    assert [flaw.place for flaw in scan.flaws] == ["line 2", "line 4"]
    assert str(scan.flaws[1]).startswith("a.jsonl: line 4: it is not a JSON object on one line")
    assert scan.samples == 2
    assert contents(tmp_path).keys() == {"a.jsonl"}


@pytest.mark.parametrize("data", [b"", b"\n \n", b'\xef\xbb\xbf{"a": 1}\n', b'{\n"a": 1\n}\n'])
def test_a_file_without_a_sample_is_refused(tmp_path: Path, data: bytes) -> None:
    path = file_of(tmp_path, data)
    assert prepared(path).flaws
    assert not (tmp_path / "a.jsonl.idx").exists()


def test_of_many_bad_lines_the_first_are_listed_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FLAWS", 2)
    scan = prepared(file_of(tmp_path, b"bad\n" * 5))
    assert [flaw.place for flaw in scan.flaws] == ["line 1", "line 2", ""]
    assert "3 more lines are bad" in scan.flaws[2].what


def test_an_index_that_does_not_fit_its_file_is_told(tmp_path: Path) -> None:
    path = file_of(tmp_path, b'{"a": 1}\n{"b": 2}\n')
    index = tmp_path / "a.jsonl.idx"
    again = "run `gristmill energon prepare` on the file"
    assert linted(path) == [f"a.jsonl.idx: there is no index ({again})"]
    for offsets, words in (
        ((0, 9, 19), "it is of a file of 19 bytes, but a.jsonl has 18"),
        ((0, 18), "it has 1 samples, but a.jsonl has 2"),
        ((0, 8, 18), "sample 1 does not begin where its line does"),
        ((0, 0, 18), "does not end behind its start"),
    ):
        index.write_bytes(struct.pack(f"<{len(offsets)}Q", *offsets))
        assert len(linted(path)) == 1
        assert words in linted(path)[0]
    index.write_bytes(b"short")
    assert jsonl_samples(open_dataset(str(path), {}).open_dataset_store(), path.name) is None


def test_a_grown_file_is_indexed_again(tmp_path: Path) -> None:
    path = file_of(tmp_path, b'{"a": 1}\n')
    prepared(path)
    file_of(tmp_path, b'{"a": 1}\n{"b": 2}\n')
    assert prepared(path).samples == 2
    assert linted(path) == []
