"""`gristmill energon prepare` over S3: the files of a folder, whatever the server does, and after each kill."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from proxy import FAULTS, FaultyProxy
from seaweed import Seaweed
from tarfolder import contents, write_shards

from gristmill.__main__ import main
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.energon.watching.listing import FolderWatch
from gristmill.energon.watching.prepare import open_watched, prepare_folder
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

OPTIONS = ("--split-ratio", "2,1,1", "--num-workers", "1", "--no-progress", "--force-overwrite")

Files = dict[str, bytes]


def upload(store: Store, folder: Path) -> None:
    for name, data in contents(folder).items():
        store.put(name, data)


def objects(store: Store) -> Files:
    return {entry.path: store.read(entry.path) for entry in store.list("")}


def words(seaweed: Seaweed, name: str, endpoint: str = "") -> list[str]:
    options = {**seaweed.options, **({"endpoint": endpoint} if endpoint else {})}
    return ["energon", "prepare", seaweed.url(name), *OPTIONS, *(f"--option={k}={v}" for k, v in options.items())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six tars, prepared."""
    folder = tmp_path_factory.mktemp("whole") / "tars"
    write_shards(folder, 6, 20)
    assert main(["energon", "prepare", str(folder), *OPTIONS]) == 0
    return folder


@pytest.fixture
def tars(tmp_path: Path) -> Path:
    """The same tars, not prepared."""
    write_shards(tmp_path / "tars", 6, 20)
    return tmp_path / "tars"


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bucket_that_answers_badly_gets_the_files_of_a_folder(
    seaweed: Seaweed, tars: Path, folder: Path, fault: str
) -> None:
    name = f"prepare-{fault}"
    store = seaweed.store(name)
    upload(store, tars)
    proxy = FaultyProxy(seaweed.endpoint, seed=7, rates={fault: 0.1}, delay=0.05)
    try:
        for _ in range(4):
            if main(words(seaweed, name, proxy.endpoint)) == 0:
                break
        assert proxy.spoiled() > 0
    finally:
        proxy.close()
    assert main(words(seaweed, name)) == 0
    assert objects(store) == contents(folder)


@pytest.mark.slow
@pytest.mark.parametrize("indexes", [1, 3, 6])
def test_a_preparation_over_s3_that_is_killed_is_completed_by_the_next(
    seaweed: Seaweed, tars: Path, folder: Path, indexes: int
) -> None:
    """It is killed when so many of the six indexes beside the tars are there."""
    name = f"killed-{indexes}"
    store = seaweed.store(name)
    upload(store, tars)
    process = subprocess.Popen(
        [sys.executable, "-m", "gristmill", *words(seaweed, name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while process.poll() is None and sum(entry.path.endswith(".idx") for entry in store.list("")) < indexes:
        time.sleep(0.001)
    process.kill()
    said = process.communicate()[0].decode()
    assert process.returncode in {0, -signal.SIGKILL}, said
    assert ".nv-meta/.info.json" not in objects(store) or objects(store) == contents(folder)
    assert main(words(seaweed, name)) == 0
    assert objects(store) == contents(folder)


@pytest.mark.slow
def test_a_watched_prefix_is_listed_and_prepared_as_a_folder(seaweed: Seaweed, tars: Path, folder: Path) -> None:
    store = seaweed.store("watched")
    upload(store, tars)
    watched = WatchedFolder(name="tars", path=seaweed.url("watched"), split_ratio=(2, 1, 1))
    dataset = open_watched(watched, Lake(seaweed.url("a-lake"), seaweed.options))
    seen = FolderWatch().look(watched, dataset.open_dataset_store(), lambda: 0.0, lambda: False)
    assert seen is not None
    assert seen.objects == 6
    told: list[object] = []
    assert prepare_folder(watched, dataset, 1, told.append).samples == 120
    assert told == []
    assert objects(store) == contents(folder)
    again = FolderWatch().look(watched, dataset.open_dataset_store(), lambda: 0.0, lambda: False)
    assert again == seen
