"""What a blocklist reaches: exports exclude at once, or are made again in the run of their slice."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, EXPORTING, Works, environment_of, letters

from assets.support.keys import address_of
from gristmill.lake.address import export_asset, export_index, place
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.export.release import read_release
from resources.lake import lake_resource
from sensors.blocked_assets import selected_assets
from sensors.blocklists import blocklist_sensors

TARS = export_index("blend", "tars")
LINES, OSCAR, TAR_PARTS = (export_asset("blend", name, "letters") for name in ("lines", "oscar", "tars"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """Two letters with all exports, made by jobs."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("exported") / "lake", instance, read_catalogue(EXPORTING))
        works.raw(letters(2, 3))
        works.arrive("letters")
        for job, only in (
            ("letters_journey", ()),
            ("__ASSET_JOB", (BLEND_LETTERS,)),
            ("__ASSET_JOB", (LINES, OSCAR, TAR_PARTS)),
        ):
            assert works.run(job, only=only).success
        assert works.run("blend_index", None, only=(TARS,)).success
        yield works


def tick(works: Works, cursor: str | None) -> tuple[Sequence[dg.RunRequest], str | None, str]:
    """The requests of a tick, the new cursor, and what the tick says."""
    [sensor] = blocklist_sensors(works.catalogue)
    lake = lake_resource(environment_of(works.root))
    with dg.build_sensor_context(
        instance=works.instance, cursor=cursor, resources={"lake": lake}, definitions=works.definitions
    ) as context:
        found = sensor(context)
    assert isinstance(found, dg.SensorResult)
    return found.run_requests or [], found.cursor, (found.skip_reason.skip_message or "") if found.skip_reason else ""


def execute(works: Works, request: dg.RunRequest) -> None:
    done = works.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=works.instance,
        partition_key=request.partition_key,
        asset_selection=list(request.asset_selection or ()),
        run_config={"resources": {"engine": {"config": {"kind": "inline"}}}},
    )
    assert done.success


def addresses(request: dg.RunRequest) -> list[str]:
    return [address_of(key) for key in request.asset_selection or ()]


def lines_of(works: Works) -> list[str]:
    """The ids in the newest part of the export of lines."""
    [path] = [
        entry.path
        for entry in works.store.list(place(LINES, "2024").folder)
        if entry.path.endswith("train.jsonl") and entry.size < 100
    ]
    return [json.loads(line)["id"] for line in works.store.read(path).splitlines()]


@pytest.mark.slow
def test_a_takedown_excludes_at_once_and_rewrites_lines_with_their_slice(exported: Works, tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        works = exported.copy(tmp_path / "lake", instance)
        requests, cursor, _ = tick(works, None)
        assert requests == []
        works.block("letter-3")
        [index, slices], cursor, _ = tick(works, cursor)  # the index runs first
        assert (addresses(slices), slices.partition_key) == ([BLEND_LETTERS, LINES, OSCAR], "2024")
        assert {each.asset_key.path[-1] for each in slices.asset_check_keys or ()} == {"letters"}
        assert (addresses(index), index.partition_key) == ([TARS], None)
        execute(works, index)  # the tar has the document still
        release = read_release(works.store, TARS)
        assert release is not None
        assert [path.rpartition("/")[0] for path in release.excluded] == [release.named[0].path]
        assert release.named[0].rows == 2
        execute(works, slices)
        assert lines_of(works) == ["letter-2"]
        assert tick(works, cursor)[0] == []


def test_an_index_that_is_being_made_is_requested_after_that(exported: Works, tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        works = exported.copy(tmp_path / "lake", instance)
        _, cursor, _ = tick(works, None)
        run = instance.create_run_for_job(
            works.definitions.resolve_job_def("blend_index"),
            asset_selection=frozenset({dg.AssetKey(TARS.split("/"))}),
            status=dg.DagsterRunStatus.STARTED,
        )
        works.block("letter-3")
        [slices], cursor, _ = tick(works, cursor)
        assert addresses(slices)[0] == BLEND_LETTERS
        requests, cursor, said = tick(works, cursor)
        assert (requests, said) == ([], f"{TARS} is being made; it is requested again after that")
        instance.report_run_failed(run)
        [index], cursor, _ = tick(works, cursor)
        assert addresses(index) == [TARS]
        assert tick(works, cursor)[0] == []


def test_a_list_reaches_only_what_names_it(exported: Works) -> None:
    [letters_slice] = [each for each in selected_assets(exported.catalogue) if each.address == BLEND_LETTERS]
    assert letters_slice.exports == (LINES, OSCAR)
    assert letters_slice.indexes == (TARS,)
    assert letters_slice.pausing == {"letters", "blend"}
