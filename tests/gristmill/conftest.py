import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from dolmaform import write_dolma
from seaweed import KEY, SECRET, Seaweed
from testkit import Mill, link
from wholelake import make_whole

from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store
from gristmill.lake.store.s3 import BucketStore

BUCKET = "a-bucket"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """An S3 server in this process, with one empty bucket; credentials stand in the environment."""
    boto3 = pytest.importorskip("boto3")
    server_module = pytest.importorskip("moto.server")
    patch = pytest.MonkeyPatch()
    patch.setenv("AWS_ACCESS_KEY_ID", KEY)
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    url = f"http://127.0.0.1:{port}"
    boto3.Session().client("s3", endpoint_url=url).create_bucket(Bucket=BUCKET)
    yield url
    server.stop()
    patch.undo()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake with all kinds of assets; no test changes it."""
    root = tmp_path_factory.mktemp("made-once") / "lake"
    make_whole(root)
    return root


@pytest.fixture
def whole(made_once: Path, tmp_path: Path) -> Mill:
    """A copy of that lake for one test."""
    return Mill(link(made_once, tmp_path / "lake"))


@pytest.fixture(params=["made by us", "real"])
def dolma(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Documents and attribute sets in Dolma's form: our own, and Dolma's where GRISTMILL_SAMPLE_DATA has them."""
    if request.param == "made by us":
        return write_dolma(tmp_path / "dolma")
    sample = Path(os.environ.get("GRISTMILL_SAMPLE_DATA", "")) / "dolma" / "provided"
    if not sample.is_dir():
        pytest.skip("GRISTMILL_SAMPLE_DATA names no sample data")
    return sample


@pytest.fixture
def bucket(endpoint: str, tmp_path: Path) -> BucketStore:
    """A lake of its own in a bucket."""
    return BucketStore(f"s3://{BUCKET}/{tmp_path.name}", {"endpoint": endpoint, "region": "us-east-1"})


@pytest.fixture(params=["folder", "moto", "seaweed"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A lake in a folder, then one in a bucket of each server: each is right where the other is lax."""
    if request.param == "folder":
        (tmp_path / "lake").mkdir()
        return FolderStore(str(tmp_path / "lake"))
    if request.param == "seaweed":
        server: Seaweed = request.getfixturevalue("seaweed")
        return server.store(tmp_path.name)
    found: BucketStore = request.getfixturevalue("bucket")
    return found
