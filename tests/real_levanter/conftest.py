"""The real Levanter as a client: asked live in the slow tests, quoted from records in the fast ones."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from peer import Ask, Peer, Recorded

HERE = Path(__file__).resolve().parent
PINS = HERE / "levanter.in"
QUIET = {"JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="session")
def levanter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Puts jobs to the real Levanter."""
    yield from asking(tmp_path_factory, "levanter_client.py")


@pytest.fixture
def fresh_levanter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """The same in a process of its own, which has the environment of the first question."""
    yield from asking(tmp_path_factory, "levanter_client.py")


@pytest.fixture(scope="session")
def old_levanter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Puts jobs to Levanter as it was before Marin took it over."""
    packages = "levanter==1.2.dev1644 chex GitPython"
    yield from asking(tmp_path_factory, "old_levanter_client.py", "GRISTMILL_OLD_LEVANTER_PYTHON", packages)


def asking(
    factory: pytest.TempPathFactory,
    client: str,
    variable: str = "GRISTMILL_LEVANTER_PYTHON",
    packages: str = "requirements/levanter.txt",
) -> Iterator[Ask]:
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} names no Python with {packages}")
    peer = Peer(python, HERE / client, factory.mktemp("peer") / "log", QUIET)
    yield peer
    peer.close()


@pytest.fixture(params=["recorded", pytest.param("live", marks=pytest.mark.slow)])
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Ask:
    """Levanter's answers: as they were recorded, or live. Live ones must be the recorded ones."""
    recorded = Recorded(HERE / "recorded" / f"{request.node.originalname}.json.gz", tmp_path, PINS)
    if request.param == "recorded":
        return recorded
    levanter: Ask = request.getfixturevalue("levanter")
    return partial(recorded.record if os.environ.get("GRISTMILL_RECORD") else recorded.compare, levanter)
