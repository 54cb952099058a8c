"""Files that are written to while they are read: nothing is made of half a file."""

from pathlib import Path

import pytest
from tarfolder import contents, write_shards

from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.jsonl import prepare_jsonl
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars
from gristmill.energon.preparing.shards import WalkedShard


@pytest.mark.parametrize("change", ["grows", "goes"])
def test_a_tar_that_changes_after_it_was_read_is_named_and_nothing_is_written(tmp_path: Path, change: str) -> None:
    first = write_shards(tmp_path, 2)[0]

    def meddle(walked: WalkedShard) -> None:
        if walked.shard == "shards/1.tar" and change == "grows":
            first.write_bytes(first.read_bytes() + b"\0" * 512)
        elif walked.shard == "shards/1.tar":
            first.unlink()

    dataset = open_dataset(str(tmp_path), {})
    done = prepare_tars(dataset, PrepareOptions(ratio={"train": 1.0}), crude_dataset(), meddle)
    assert [str(flaw) for flaw in done.flaws] == [
        "shards/0.tar: it was changed while it was read (wait until nobody writes to it, then run again)"
    ]
    assert not done.written
    assert [name for name in contents(tmp_path) if not name.endswith(".tar")] == []
    again = prepare_tars(dataset, PrepareOptions(ratio={"train": 1.0}), crude_dataset(), lambda _: None)
    assert again.written


def test_json_lines_that_grow_while_they_are_read_have_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"n": 1}\n')
    dataset = open_dataset(str(file), {})
    store = dataset.open_dataset_store()
    stream = store.stream

    def grow(path: str) -> object:
        yield from stream(path)
        with file.open("a") as opened:
            opened.write('{"n": 2')

    monkeypatch.setattr(store, "stream", grow)
    monkeypatch.setattr(type(dataset), "open_dataset_store", lambda _: store)
    [flaw] = prepare_jsonl(dataset).flaws
    assert str(flaw) == "a.jsonl: it was changed while it was read (wait until nobody writes to it, then run again)"
    assert list(contents(tmp_path)) == ["a.jsonl"]
