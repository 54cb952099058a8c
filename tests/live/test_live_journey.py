"""From raw to a mix by the daemon alone: nobody launches anything."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, LETTERS_V0, Works, letters
from live import Live

pytestmark = pytest.mark.live


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "lake").mkdir()
    running = Live(tmp_path, str(tmp_path / "lake"))
    yield running
    running.close()


def test_the_daemon_takes_snapshots_from_raw_to_the_mix(live: Live, tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path / "lake", instance)
        for snapshot in ("2024", "2025"):
            works.raw(letters(1, 2, 3), snapshot=snapshot)
        for snapshot in ("2024", "2025"):
            live.wait(lambda key=snapshot: works.ledger(BLEND_LETTERS, key) is not None, f"the mix of {snapshot}")  # type: ignore[misc]  # a default binds the loop's variable
        assert live.partitions(LETTERS_V0) == ["2024", "2025"]
        assert works.ids(BLEND_LETTERS) == ["letter-2", "letter-3"]
