"""The whole journey from raw to token cache on a real S3 server: the same objects as in a folder, and no secret."""

import gzip
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, RETRY_DELAY, TINY_LETTERS, Works, environment_of, letters
from live import Live
from seaweed import KEY, REGION, SECRET, Seaweed
from testkit import Mill

from definitions import build
from gristmill.__main__ import main
from gristmill.engines.local import LocalPool
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.lake.store.s3 import BucketStore
from gristmill.recipes.catalogue import read_catalogue

DEPLOYED = ("gristmill", "dagshelf")
OWN = ("lake.json",)
"""Objects that no two lakes have alike: the lake id. Notes about runs are such, too."""


class RemoteWorks(Works):
    """The same over a lake in a bucket."""

    def __init__(self, seaweed: Seaweed, prefix: str, instance: dg.DagsterInstance) -> None:
        super().__init__(Path(instance.root_directory) / "unused", instance)
        self._seaweed = seaweed
        self.store = seaweed.store(prefix)
        self.block()

    @cached_property
    def definitions(self) -> dg.Definitions:
        here = replace(environment_of(self.root), lake=self.store.url, endpoint=self._seaweed.endpoint, region=REGION)
        return build(here, self.catalogue)


def fill(works: Works) -> None:
    """Raw letters of two shards, one of them blocked, and a diary."""
    works.raw(letters(*range(1, 40)), "a")
    works.raw(letters(*range(40, 80)), "b")
    works.block("letter-3")
    works.arrive()


def tree(store: Store) -> dict[str, bytes]:
    """All objects that must be the same in every lake, with the lake's own address blotted out."""
    return {
        entry.path: store.read(entry.path).replace(store.url.encode(), b"(the lake)")
        for entry in store.list("")
        if entry.path not in OWN and not entry.path.endswith(".run.json")
    }


def search(data: bytes, where: str) -> None:
    """No part of the credentials is there."""
    for secret in (KEY, SECRET):
        assert secret.encode() not in data, f"{where} holds {secret!r}"


def search_lake(store: Store) -> None:
    for entry in store.list(""):
        data = store.read(entry.path)
        search(data, entry.path)
        if entry.path.endswith(".gz"):
            search(gzip.decompress(data), entry.path)


def search_folder(folder: Path) -> int:
    """All files below a folder: Dagster's databases, events and logs."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        search(path.read_bytes(), str(path))
    for path in folder.rglob("*.db"):  # what SQLite has in its log goes into the file
        with sqlite3.connect(path) as database:
            database.execute("pragma wal_checkpoint(truncate)")
        search(path.read_bytes(), str(path))
    return len(files)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """With databases and logs in files."""
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        yield instance


@pytest.mark.slow
def test_a_journey_on_s3_makes_the_objects_of_a_folder_and_tells_no_secret(
    seaweed: Seaweed, tmp_path: Path, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = RemoteWorks(seaweed, tmp_path.name, instance)
    fill(remote)
    remote.whole()
    with dg.DagsterInstance.ephemeral() as other:
        local = Works(tmp_path / "lake", other)
        fill(local)
        local.whole()
    assert tree(remote.store) == tree(local.store)
    assert len(tree(remote.store)) > 30
    code = main(["verify", remote.store.url, *endpoint(seaweed)])
    said = capsys.readouterr()
    assert code == 0, said
    search_lake(remote.store)
    assert search_folder(tmp_path / "dagster") > 5
    search((said.out + said.err).encode(), "what verify says")


def endpoint(seaweed: Seaweed) -> list[str]:
    return ["--option", f"endpoint={seaweed.endpoint}", "--option", f"region={REGION}"]


@pytest.mark.slow
def test_a_refused_run_says_what_to_set_and_tells_no_secret(
    seaweed: Seaweed, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = RemoteWorks(seaweed, tmp_path.name, instance)
    fill(remote)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"not-{SECRET}")
    done = remote.run("letters_journey")
    assert not done.success
    assert any("the bucket refused our credentials" in words for words in done.failures.values())
    assert done.waits == [RETRY_DELAY, pytest.approx(3 * RETRY_DELAY)]
    assert search_folder(tmp_path / "dagster") > 5


class AsDeployed(Works):
    """With all the recipes that a deployment finds: ours besides those of the tests."""

    @cached_property
    def definitions(self) -> dg.Definitions:
        return build(environment_of(self.root, DEPLOYED), self.catalogue)


@pytest.mark.slow
def test_the_whole_journey_launched_from_the_ui_is_that_of_a_folder(seaweed: Seaweed, tmp_path: Path) -> None:
    store = seaweed.store(f"{tmp_path.name}-live")
    with dg.DagsterInstance.ephemeral() as other:
        local = AsDeployed(tmp_path / "lake", other, read_catalogue(DEPLOYED))
        fill(local)
        local.whole()
    for path in ("sources/letters/raw/2024/a.jsonl.gz", "sources/letters/raw/2024/b.jsonl.gz"):
        store.put(path, local.store.read(path))
    store.put("blocklists/takedowns.jsonl", local.store.read("blocklists/takedowns.jsonl"))
    live = Live(tmp_path / "live", store.url, environment=seaweed.environment)
    try:
        live.wait(lambda: "2024" in live.partitions("sources/letters/v0/documents"), "the snapshot")
        live.succeed(live.launch("letters_journey", "2024"))
        live.succeed(live.materialize([BLEND_LETTERS], "2024"))
        live.succeed(live.launch("tiny_1_train"))
        live.succeed(live.materialize([TINY_LETTERS], "2024"))
        live.succeed(live.launch("blend_index"))
    finally:
        live.close()
    assert tree(store) == tree(local.store)
    search_lake(store)
    assert search_folder(tmp_path / "live") > 10
    assert main(["verify", store.url, *endpoint(seaweed)]) == 0


@pytest.mark.slow
def test_large_shards_go_through_the_stages_in_parts(
    seaweed: Seaweed, near: BucketStore, mill: Mill, tmp_path: Path
) -> None:
    remote = Mill(tmp_path, near.url, seaweed.options)
    for each in (remote, mill):
        each.raw("a.jsonl.gz", hard_documents(6_000))
        pool = LocalPool(2, small=0)
        try:
            each.convert(engine=pool)
            each.tag("words-1", "characters-1", engine=pool)
            each.revise(engine=pool)
        finally:
            pool.close()
    row = remote.table(remote.documents("v1"))["a"]
    assert row.bytes > 8 << 20
    entry = near.head(remote.documents("v1").shard("a"))
    assert entry is not None
    assert entry.etag.endswith("-2")  # of two parts
    assert remote.tree() == mill.tree()
    assert read_ledger(near, remote.documents("v1"))[0] == read_ledger(mill.store, mill.documents("v1"))[0]


def hard_documents(count: int) -> list[dict[str, object]]:
    """Documents of 3.2 KB that pack to a half: digits of drawn bytes."""
    chance = random.Random(1)
    return [
        {
            "id": f"page-{number}",
            "text": chance.randbytes(1_600).hex(" ", 8),
            "source": "pages",
            "metadata": {"language": "en"},
        }
        for number in range(count)
    ]
