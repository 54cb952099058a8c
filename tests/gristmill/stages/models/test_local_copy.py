"""Copies of models on a machine: compared with the ledger each time, shared, and bounded."""

import os
import stat
from pathlib import Path

import pytest
from remarks import start
from testkit import Mill

from gristmill.errors import DataError, StoreError
from gristmill.stages.models import local_copy
from gristmill.stages.models.local_copy import copy_models_locally, model_copies_folder
from gristmill.stages.models.training import make_model


@pytest.fixture
def fingerprint(mill: Mill) -> str:
    return make_model(mill.store, start(mill).models["list-1"], mill.said.append)[0].fingerprint


def test_a_copy_is_fetched_once_and_fetched_again_if_it_was_changed(
    mill: Mill, fingerprint: str, tmp_path: Path
) -> None:
    copies = tmp_path / "copies"
    path = copy_models_locally(mill.store, {"list-1": fingerprint}, copies)["list-1"]
    assert (path, path.read_text()) == (copies / fingerprint / "words.txt", "fool\n")
    inode = path.stat().st_ino
    assert copy_models_locally(mill.store, {"list-1": fingerprint}, copies)["list-1"].stat().st_ino == inode
    path.write_text("fine\n")
    assert copy_models_locally(mill.store, {"list-1": fingerprint}, copies)["list-1"].read_text() == "fool\n"
    assert [each.name for each in path.parent.iterdir()] == ["words.txt"]
    assert copy_models_locally(mill.store, {}, tmp_path / "none") == {}


def test_a_file_of_another_sha256_is_never_opened(mill: Mill, fingerprint: str, tmp_path: Path) -> None:
    mill.store.put("models/list-1/words.txt", b"fine\n")
    with pytest.raises(DataError, match=r"models/list-1/words.txt: its sha256 is .*restore the file"):
        copy_models_locally(mill.store, {"list-1": fingerprint}, tmp_path / "copies")
    assert list((tmp_path / "copies" / fingerprint).iterdir()) == []
    with pytest.raises(DataError, match="made anew since this run was planned"):
        copy_models_locally(mill.store, {"list-1": "0" * 64}, tmp_path / "copies")
    with pytest.raises(DataError, match="make it: `gristmill make LAKE models/list-2`"):
        copy_models_locally(mill.store, {"list-2": "0" * 64}, tmp_path / "copies")


def test_the_longest_unused_copies_are_removed(
    mill: Mill, fingerprint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copy, "KEPT", 12)
    copies = tmp_path / "copies"
    for number, name in enumerate(("old", "older", "young")):
        (copies / name).mkdir(parents=True)
        (copies / name / "model.bin").write_bytes(b"12345")
        if name != "young":
            os.utime(copies / name, (1e9 - number, 1e9 - number))
    copy_models_locally(mill.store, {"list-1": fingerprint}, copies)
    assert {each.name for each in copies.iterdir()} == {fingerprint, "young"}


def test_the_folder_of_the_copies_is_this_user_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = model_copies_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    with pytest.raises(StoreError, match="others may write there"):
        model_copies_folder()
