"""Which engine a deployment has, and what it takes for an address."""

from pathlib import Path

import dagster as dg
import pytest

from gristmill.engines.dask import DaskEngine
from gristmill.engines.local import LocalPool
from gristmill.engines.ray import RayEngine
from gristmill.environment import read_credentials, read_environment
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from resources.engine import EngineChoice, RunEngine, engine_resource


def resource(**variables: str) -> RunEngine:
    environment = read_environment({f"GRISTMILL_{name.upper()}": value for name, value in variables.items()})
    with dg.build_resources({"engine": engine_resource(environment)}) as resources:
        return resources.engine  # type: ignore[no-any-return]  # what Dagster opens


def test_an_environment_that_says_nothing_has_the_local_pool() -> None:
    assert isinstance(resource(workers="3").engine(), LocalPool)


@pytest.mark.parametrize(
    ("kind", "address", "engine"),
    [
        ("inline", "", Inline),
        ("dask", "tcp://10.0.0.1:8786", DaskEngine),
        ("dask", "tls://scheduler.example:8786", DaskEngine),
        ("ray", "10.0.0.1:6379", RayEngine),
    ],
)
def test_an_engine_is_named_by_the_environment(kind: str, address: str, engine: type) -> None:
    assert type(resource(engine=kind, engine_address=address).engine()) is engine


@pytest.mark.parametrize(
    ("kind", "address"),
    [("dask", ""), ("dask", "10.0.0.1:8786"), ("dask", "tcp://10.0.0.1"), ("ray", ""), ("ray", "ray://10.0.0.1:10001")],
)
def test_an_address_that_is_none_is_refused_with_an_example(kind: str, address: str) -> None:
    example = {"dask": "tcp://host:8786", "ray": "host:6379"}[kind]
    with pytest.raises(RecipeError, match=f"GRISTMILL_ENGINE_ADDRESS is '{address}'.*needs {example}"):
        resource(engine=kind, engine_address=address)
    with pytest.raises(RecipeError, match=f"the engine's address is '{address}'.*needs {example}"):
        RunEngine(EngineChoice(kind, 2, force=False), address).engine()


def test_an_engine_that_nobody_knows_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RecipeError, match="GRISTMILL_ENGINE is 'spark'; known: dask, inline, local, ray"):
        resource(engine="spark")
    given = {"engine": {"config": {"kind": "spark"}}}  # as a run asks
    with (
        pytest.raises(dg.DagsterInvalidConfigError),
        dg.build_resources({"engine": engine_resource(read_environment({}))}, resource_config=given),
    ):
        pass


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GRISTMILL_LAKE", "s3://me:hunter2@bucket/lake"),
        ("GRISTMILL_LAKE", "s3://me:hun/ter2@bucket/lake"),
        ("GRISTMILL_LAKE", "https://me:hunter2@host/lake"),
        ("AWS_ENDPOINT_URL", "http://me:hunter2@host:9000"),
        ("AWS_ENDPOINT_URL_S3", "http://hunter2@host:9000"),
        ("AWS_ENDPOINT", "http://me:hunter2@host:9000"),
        ("GRISTMILL_ENGINE_ADDRESS", "tcp://me:hunter2@host:8786"),
        ("GRISTMILL_ENGINE_ADDRESS", "me:hunter2@host:6379"),
    ],
)
def test_a_password_in_an_address_is_refused_and_not_shown(variable: str, value: str) -> None:
    with pytest.raises(RecipeError, match=f"^{variable} holds a user or a password") as refused:
        read_environment({variable: value})
    assert "ter2" not in str(refused.value)


def test_an_endpoint_is_the_url_of_a_server() -> None:
    assert read_environment({"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}).endpoint == "http://127.0.0.1:9000"
    with pytest.raises(RecipeError, match=r"^AWS_ENDPOINT_URL is no address .*; give http://host:port"):
        read_environment({"AWS_ENDPOINT_URL": "127.0.0.1:9000"})


@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_a_region_is_a_name(name: str) -> None:
    with pytest.raises(RecipeError, match=f"^{name} is no name of a region") as refused:
        read_environment({name: "me:hunter2@host"})
    assert "hunter2" not in str(refused.value)


def test_the_names_of_the_ui_are_names() -> None:
    given = {"GRISTMILL_UI_HOSTS": "UI.example.org, 10.0.0.1:3000,[fd00::1]:3000"}
    assert read_environment(given).ui_hosts == ("ui.example.org", "10.0.0.1:3000", "[fd00::1]:3000")
    assert read_environment({}).ui_hosts == ()


@pytest.mark.parametrize("host", ["*", "*.example.org", "https://ui.example.org", "ui.example.org/", "a b", "a:b"])
def test_a_pattern_or_a_url_is_no_name_of_the_ui(host: str) -> None:
    with pytest.raises(RecipeError, match=r"^GRISTMILL_UI_HOSTS has .*; give names as browsers show them"):
        read_environment({"GRISTMILL_UI_HOSTS": host})


def test_shelves_in_the_lake_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lake" / "theirs").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "lake"))
    given = {"GRISTMILL_LAKE": str(tmp_path / "lake"), "GRISTMILL_SHELVES": "theirs"}
    with pytest.raises(RecipeError, match=r"^the package theirs of GRISTMILL_SHELVES .* is in the lake: "):
        read_environment(given)
    read_environment({**given, "GRISTMILL_LAKE": str(tmp_path / "other")})


def test_dagsters_settings_in_the_lake_are_refused(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "home").mkdir(parents=True)
    (tmp_path / "home").symlink_to(lake / "home")
    for home in (lake, lake / "home", tmp_path / "home"):
        with pytest.raises(RecipeError, match=r"^DAGSTER_HOME is .*, in the lake .*Move it out of the lake"):
            read_environment({"GRISTMILL_LAKE": str(lake), "DAGSTER_HOME": str(home)})
    read_environment({"GRISTMILL_LAKE": str(lake), "DAGSTER_HOME": str(tmp_path / "other")})
    read_environment({"GRISTMILL_LAKE": "s3://bucket/lake", "DAGSTER_HOME": str(lake)})


def test_credentials_of_another_bucket_have_a_beginning_of_their_own() -> None:
    given = {
        "MINIO_ACCESS_KEY_ID": "a",
        "MINIO_AWS_ACCESS_KEY_ID": "key",
        "MINIO_SECRET_ACCESS_KEY": "hunter2",
        "MINIO_ENDPOINT_URL": "http://minio:9000",
        "AWS_SESSION_TOKEN": "of the lake",
    }
    read = read_credentials("MINIO", "here", given)
    assert (read.key, read.secret, read.token) == ("key", "hunter2", "")
    assert repr(read) == "BucketVariables(endpoint='http://minio:9000', region='')"


def test_missing_credentials_name_the_variables_that_may_hold_them() -> None:
    with pytest.raises(RecipeError, match=r"^here has credentials='B', but neither B_AWS_SECRET_ACCESS_KEY nor B_SEC"):
        read_credentials("B", "here", {"B_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "of the lake"})
    given = {"B_ACCESS_KEY_ID": "key", "B_SECRET_ACCESS_KEY": "s", "B_ENDPOINT_URL": "http://me:hunter2@minio"}
    with pytest.raises(RecipeError, match=r"^B_ENDPOINT_URL holds a user or a password") as refused:
        read_credentials("B", "here", given)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["GRISTMILL_WEBHOOK", "GRISTMILL_CODE_URL", "GRISTMILL_UI_URL"])
@pytest.mark.parametrize(
    "address",
    [
        *(
            "ftp://h/hunter2",
            "http://h/hunter2 b",
            "http://h/hunter2\u00e9",
            "http://h:hunter2/x",
            "http://h:99999/hunter2",
        ),
        *("http://a..b/hunter2", "http://[hunter2/x", "http://hunter2?a", "http://me:hunter2@h", "http://hunter2@h/x"),
    ],
)
def test_an_address_of_the_web_that_cannot_be_one_is_refused_and_not_repeated(name: str, address: str) -> None:
    with pytest.raises(RecipeError, match=f"^{name} (is no address of the web|holds a user or a password)") as refused:
        read_environment({name: address})
    assert "hunter2" not in str(refused.value)


def test_further_jobs_are_asked_for_by_1_and_nothing_else() -> None:
    assert [read_environment(each).more_jobs for each in ({}, {"GRISTMILL_MORE_JOBS": "0"})] == [False, False]
    assert read_environment({"GRISTMILL_MORE_JOBS": "1"}).more_jobs
    with pytest.raises(RecipeError, match="GRISTMILL_MORE_JOBS is 'yes'; give 1, or 0 for none"):
        read_environment({"GRISTMILL_MORE_JOBS": "yes"})
