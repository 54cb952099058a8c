from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from deployed import PRODUCTION
from postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A Postgres server."""
    try:
        server = Postgres()
    except LookupError as missing:
        pytest.skip(str(missing))
    yield server
    server.close()


@pytest.fixture
def instance(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """Dagster with the production settings as they stand, over an empty database."""
    for name, value in postgres.create(tmp_path.name).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "dagster.yaml").write_text((PRODUCTION / "dagster.yaml").read_text())
    with dg.DagsterInstance.from_config(str(tmp_path)) as found:
        yield found
