"""Dask and Ray on real clusters of this machine: what the engines promise, said once and shown on both."""

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import dagster as dg
import msgspec
import pytest
from dagster_kit import BLEND_LETTERS, TINY_LETTERS, Works, letters
from faulty import OF_TWO_JOBS, came, meeting, of_two_jobs, opened, shards, work
from testkit import Mill

from bench.stages.clusters import Cluster, DaskCluster, RayCluster, descendants, kill
from gristmill.engines.dask import DaskEngine
from gristmill.engines.ray import RayEngine
from gristmill.errors import RecipeError, StoreError
from gristmill.execution.work import Done, Item

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (find_spec("distributed") and find_spec("ray")), reason="the extras dask and ray"),
]

Engine = DaskEngine | RayEngine
FOLDER = Path(__file__).resolve().parents[2] / "support" / "shelves"


@pytest.fixture(scope="module", autouse=True)
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What lets us into Ray; it is read when ray is imported, which is why nothing here does that."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
        yield


@pytest.fixture(scope="module", params=["dask", pytest.param("ray", marks=pytest.mark.slow)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("c")
    made: Cluster = DaskCluster(folder, FOLDER) if request.param == "dask" else RayCluster(folder, FOLDER)
    yield made
    made.end()


@pytest.fixture
def engine(cluster: Cluster) -> Iterator[Engine]:
    made = cluster.engine()
    yield made
    made.close()


def test_results_of_two_jobs_are_read_in_turns(mill: Mill, engine: Engine) -> None:
    assert of_two_jobs(mill, engine) == OF_TWO_JOBS


def test_a_run_chooses_its_engine_and_has_the_same_bytes_on_each(cluster: Cluster, tmp_path: Path) -> None:
    trees: list[dict[str, bytes]] = []
    for kind in ("inline", cluster.kind):
        with dg.DagsterInstance.ephemeral() as instance:
            works = Works(tmp_path / kind, instance, address=cluster.address)
            works.raw(letters(1, 2, 3), "a")
            works.raw(letters(4, 5, 6), "b")
            works.arrive("letters")
            for job, only in (
                ("letters_journey", ()),
                ("__ASSET_JOB", (BLEND_LETTERS,)),
                ("tiny_1_train", ()),
                ("__ASSET_JOB", (TINY_LETTERS,)),
            ):
                done = works.run(job, None if job == "tiny_1_train" else "2024", only=only, engine={"kind": kind})
                assert done.success, done.failures
            assert works.fingerprint(TINY_LETTERS)
            trees.append(Mill(works.root).tree())
    assert trees[0] == trees[1]


def test_a_worker_killed_in_the_middle_takes_no_shard_along(mill: Mill, engine: Engine, tmp_path: Path) -> None:
    other = Mill(tmp_path / "other")
    here = tmp_path / "meeting"
    for each in (mill, other):
        shards(each, **dict.fromkeys("cdef", meeting(here)))
    killed: list[int] = []

    def kill_one() -> None:
        killed.append(came(here, 2)[0])
        os.kill(killed[0], signal.SIGKILL)
        opened(here)

    thread = threading.Thread(target=kill_one)
    thread.start()
    mill.tag("faulty-1", engine=engine)
    thread.join()
    assert len(killed) == 1
    other.tag("faulty-1")
    assert mill.tree() == other.tree()


@pytest.mark.slow
def test_a_poisoned_shard_fails_alone_and_by_name(mill: Mill, engine: Engine) -> None:
    shards(mill, c="KILL")
    with pytest.raises(StoreError, match=r"1 of 6 shards failed(.|\n)*shard c: 2 workers died over it"):
        mill.tag("faulty-1", engine=engine)
    where = mill.attributes("faulty-1")
    there = [mill.store.head(where.shard(name)) is not None for name in "abcdef"]
    assert there == [True, True, False, True, True, True]
    assert mill.store.head(where.ledger) is None
    shards(mill)
    mill.tag("faulty-1", engine=engine)
    assert mill.ground == ["c"]
    mill.verify(where)


@pytest.mark.slow
def test_a_poisoned_shard_takes_none_of_the_small_ones_along_that_travel_with_it(mill: Mill, engine: Engine) -> None:
    shards(mill, c="KILL")
    planned, (a, b, c, d, e, f) = work(mill)
    others = [a, b, d, e, f]
    many = [*others, *others, *others, c, *others]  # eight go singly, then sixteen at a time
    done = list(engine.map(planned.job, many))
    assert sorted(each.name for each in done) == sorted(each.name for each in many)
    assert [each.name for each in done if each.outcome.failed] == ["c"]


def test_what_a_recipe_raises_is_the_shards_failure_at_once(mill: Mill, engine: Engine) -> None:
    shards(mill, b="RAISE", e="HUGE")
    planned, items = work(mill)
    failed = {each.name: each.outcome.failed for each in engine.map(planned.job, items)}
    assert sorted(failed) == ["a", "b", "c", "d", "e", "f"]
    assert [name for name in "abcdef" if failed[name]] == ["b", "e"]
    assert "LookupError: doc-00001" in failed["b"][0].message
    assert "shard e: out of memory" in failed["e"][0].message


def test_items_are_taken_only_as_there_is_room(mill: Mill, engine: Engine) -> None:
    shards(mill)
    planned, items = work(mill)
    taken: list[str] = []

    def endless() -> Iterator[Item]:
        for number in range(40):
            taken.append(f"{number}")
            yield msgspec.structs.replace(items[number % 6], weight=1 << 20)

    seen = 0
    for _ in engine.map(planned.job, endless()):
        seen += 1
        assert len(taken) <= seen + 8
    assert seen == 40


def test_a_reader_that_goes_away_leaves_the_rest_unbegun(mill: Mill, engine: Engine) -> None:
    shards(mill, **dict.fromkeys("abcdef", "SLEEP"))
    planned, items = work(mill)
    results = engine.map(planned.job, items)
    assert isinstance(next(results), Done)
    results.close()  # type: ignore[attr-defined]  # the protocol asks for an iterator only
    assert mill.tag("words-1", engine=engine).totals["rows"] == 6  # by now both workers are through with it
    where = mill.attributes("faulty-1")
    made = [name for name in "abcdef" if mill.store.head(where.shard(name)) is not None]
    assert 1 <= len(made) <= 4, "all six were on the cluster: two at a time, and two more when the first was read"


def test_workers_that_lack_a_package_say_so(mill: Mill, engine: Engine) -> None:
    shards(mill)
    planned, items = work(mill)
    job = msgspec.structs.replace(planned.job, shelves=("gristmill", "nowhere"))
    with pytest.raises(RecipeError, match="nowhere: no such package"):
        list(engine.map(job, items))


def test_workers_with_other_code_refuse(
    mill: Mill, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paths" / "elsewhere").mkdir(parents=True)
    (tmp_path / "paths" / "elsewhere" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "paths"))
    shards(mill)
    planned, items = work(mill)
    job = msgspec.structs.replace(planned.job, shelves=("gristmill", "testshelf", "elsewhere"))
    for done in engine.map(job, items):
        (failed,) = done.outcome.failed
        assert failed.error == "RecipeError"
        assert "cannot import elsewhere" in failed.message


@pytest.mark.parametrize("kind", [DaskEngine, RayEngine])
def test_a_cluster_that_does_not_answer_is_worth_trying_again(mill: Mill, kind: type[Engine]) -> None:
    shards(mill)
    planned, items = work(mill)
    address = "tcp://127.0.0.1:9" if kind is DaskEngine else "127.0.0.1:9"
    with pytest.raises(StoreError, match=r"answers at (tcp://)?127\.0\.0\.1:9"):
        list(kind(address).map(planned.job, items))


def test_a_scheduler_without_workers_or_that_dies_ends_the_run(mill: Mill, tmp_path: Path) -> None:
    shards(mill)
    planned, items = work(mill)
    lonely = DaskCluster(tmp_path, FOLDER, workers=0)
    engine = DaskEngine(lonely.address, patience=2)
    try:
        with pytest.raises(StoreError, match=r"has had no workers for [2-9] seconds"):
            list(engine.map(planned.job, items))
        timer = threading.Timer(0.5, kill, [lonely.scheduler.pid])
        timer.start()
        with pytest.raises(StoreError, match="does not answer any more"):
            list(engine.map(planned.job, items))
        timer.join()
    finally:
        engine.close()
        lonely.end()
    assert descendants(lonely.scheduler.pid) == {}
