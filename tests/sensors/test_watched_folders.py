"""The sensors of watched folders, with Dagster's records, and the runs that they request."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import Works, environment_of
from tarfolder import contents, write_shards

from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.recipes.catalogue import Catalogue
from resources.lake import lake_resource
from sensors.watched_folders import watched_folder_sensors


class Watched:
    """A lake without recipes but that of a watched folder, and ticks of its sensor by a clock of the test."""

    def __init__(self, tmp_path: Path, instance: dg.DagsterInstance) -> None:
        self.path = tmp_path / "tars"
        self.path.mkdir()
        self.works = Works(tmp_path / "lake", instance, Catalogue({}, {}, {}, {}))
        self.declare(WatchedFolder(name="tars", path=str(self.path), split_ratio=(1, 0, 0)))
        self.clock, self.cursor, self.said = 0.0, "", ""

    def declare(self, folder: WatchedFolder) -> None:
        self.folder = folder
        self.works.load(replace(self.works.catalogue, watched_folders={"tars": folder}))

    def tick(self, after: float = 60.0) -> list[dg.RunRequest]:
        self.clock += after
        [sensor] = watched_folder_sensors(self.works.catalogue, now=lambda: self.clock)
        with dg.build_sensor_context(
            instance=self.works.instance,
            cursor=self.cursor,
            resources={"lake": lake_resource(environment_of(self.works.root))},
            definitions=self.works.definitions,
        ) as context:
            found = sensor(context)
        assert isinstance(found, dg.SensorResult)
        self.cursor = found.cursor or ""
        self.said = (found.skip_reason.skip_message or "") if found.skip_reason else ""
        assert self.cursor.startswith(self.said or f"requested 1 run: {self.path} has changed, ")
        return list(found.run_requests or [])

    def run(self, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
        return self.works.definitions.resolve_job_def("tars_prepare").execute_in_process(
            instance=self.works.instance, tags=request.tags, raise_on_error=False
        )

    def event(self) -> dg.ExecuteInProcessResult:
        """A change, when two ticks have seen it; its run; and ticks after it, which request nothing."""
        assert self.tick() == []
        assert self.said == "the files have changed; waits until they stay the same for 60 s"
        [request] = self.tick()
        done = self.run(request)
        assert [self.tick(), self.tick()] == [[], []]
        return done


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watched(tmp_path, instance)


@pytest.mark.slow
def test_files_that_arrive_are_prepared_once(watched: Watched) -> None:
    assert watched.tick() == []
    assert watched.said == "no tar and no .jsonl file is there"
    for number in (1, 2):
        write_shards(watched.path, number)
        assert watched.event().success
        assert watched.said.startswith("nothing new since run ")
        assert contents(watched.path)[".nv-meta/.info.json"].count(b".tar") == number
    before = contents(watched.path)
    (watched.path / "shards" / "1.tar").unlink()  # back to the first state: it is another change
    assert watched.event().success
    assert contents(watched.path) != before
    watched.cursor = ""  # a lost cursor requests nothing twice
    assert [watched.tick(), watched.tick(), watched.tick()] == [[], [], []]
    watched.declare(replace(watched.folder, split_parts={"train": ".*"}, split_ratio=()))
    assert not watched.event().success  # the old recipe's split.yaml may be an edited one
    watched.declare(replace(watched.folder, force_overwrite=True))
    assert watched.event().success


def test_a_run_that_fails_names_the_fault_and_is_not_requested_again(watched: Watched) -> None:
    tar = write_shards(watched.path, 1)[0]
    whole = tar.read_bytes()
    tar.write_bytes(whole[:700])
    done = watched.event()
    [failure] = [event.step_failure_data for event in done.all_events if event.is_step_failure]
    assert failure.user_failure_data is not None
    assert str(failure.user_failure_data.description).startswith(f"{watched.path}: shards/0.tar: ")
    assert watched.said.endswith("which ended as FAILURE; it is not requested again by itself")
    tar.write_bytes(whole)
    assert watched.event().success


def test_a_folder_that_is_written_to_waits_and_so_does_one_that_is_being_prepared(watched: Watched) -> None:
    watched.declare(replace(watched.folder, marker="_SUCCESS"))
    for number in (1, 2, 3):
        write_shards(watched.path, number)
        assert watched.tick() == []
        assert watched.said == "waits for _SUCCESS"
    (watched.path / "_SUCCESS").touch()
    [request] = watched.tick()
    run = watched.works.instance.create_run_for_job(
        watched.works.definitions.resolve_job_def("tars_prepare"),
        tags=request.tags,
        status=dg.DagsterRunStatus.STARTED,
    )
    write_shards(watched.path, 4)
    assert [watched.tick(), watched.tick()] == [[], []]
    assert watched.said == "a run is preparing the folder"
    watched.works.instance.report_run_failed(run)
    assert len(watched.tick()) == 1


def test_a_folder_that_is_gone_is_an_error_and_no_empty_folder(watched: Watched) -> None:
    watched.path.rmdir()
    with pytest.raises(Exception, match=r"watched folder 'tars': .*nothing is there"):
        watched.tick()
