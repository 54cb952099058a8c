"""The real datatrove's filters: asked live, in an environment of their own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from peer import Ask, Peer
from scriptrows import SAMPLES, all_texts, short_texts

HERE = Path(__file__).resolve().parent
PYTHON = "GRISTMILL_DATATROVE_PYTHON"


@pytest.fixture(scope="session")
def datatrove(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Puts jobs to the real datatrove."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python with datatrove: `make .cache/datatrove/.done`")
    folder = tmp_path_factory.mktemp("datatrove")
    peer = Peer(python, HERE / "datatrove_client.py", folder / "log", {"HOME": str(folder)})
    yield peer
    peer.close()


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of the sample data."""
    folder = os.environ.get(SAMPLES)
    if not folder:
        pytest.skip(f"{SAMPLES} names no sample data")
    return Path(folder)


@pytest.fixture(scope="session")
def short(samples: Path) -> list[str]:
    """At least 20,000 short texts in at least 20 scripts: what CI compares."""
    return short_texts(samples)


@pytest.fixture(scope="session")
def whole(samples: Path) -> list[str]:
    """All texts of the sample data, uncut: what `make proofs` compares."""
    return all_texts(samples)
