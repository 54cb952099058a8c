import pytest

from gristmill.sources.jsonl import JSONL


@pytest.mark.parametrize("end", [".jsonl", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".jsonl.zstd", ".JSONL.GZ"])
def test_json_lines_of_every_packing_are_read(end: str) -> None:
    assert JSONL.wants(f"en/part-1{end}")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl.bz2", "a.jsonl.gz.part", "jsonl", ".a.jsonl", ".git/a.jsonl"])
def test_other_files_and_hidden_ones_are_left(name: str) -> None:
    assert not JSONL.wants(name)
