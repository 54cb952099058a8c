"""The real Energon as a client: asked live, in an environment of its own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from peer import Ask, Peer
from seaweed import BUCKET, KEY, REGION, SECRET, Seaweed

HERE = Path(__file__).resolve().parent
PYTHON = "GRISTMILL_ENERGON_PYTHON"


@pytest.fixture(scope="session")
def energon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Puts jobs to the real Energon."""
    yield from asking(tmp_path_factory, {})


@pytest.fixture(scope="session")
def energon_on_s3(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Ask]:
    """The same; it reaches the bucket of the S3 test server as `msc://lake/...`."""
    profile = {
        "storage_provider": {
            "type": "s3",
            "options": {"base_path": BUCKET, "region_name": REGION, "endpoint_url": seaweed.endpoint},
        },
        "credentials_provider": {
            "type": "S3Credentials",
            "options": {"access_key": KEY, "secret_key": SECRET},
        },
    }
    config = tmp_path_factory.mktemp("msc") / "config.json"
    config.write_text(json.dumps({"profiles": {"lake": profile}}))
    yield from asking(tmp_path_factory, {"MSC_CONFIG": str(config)})


def asking(factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Ask]:
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python with requirements/energon.txt: `make .cache/energon/.done`")
    folder = factory.mktemp("energon")
    peer = Peer(python, HERE / "energon_client.py", folder / "log", {"HOME": str(folder), **environment})
    yield peer
    peer.close()
