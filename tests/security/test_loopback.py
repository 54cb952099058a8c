"""What listens, listens on this machine alone."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ANYWHERE = re.compile(r"0\.0\.0\.0|\[::\]|--host[= ]\*")


def shipped() -> list[Path]:
    """Everything that starts something: make, scripts, code, settings, docs."""
    found = [ROOT / "Makefile", ROOT / "README.md", ROOT / "dagster.yaml", ROOT / "workspace.yaml"]
    for folder in ("scripts", "gristmill", "resources", "assets", "sensors", "docs", "bench", ".ci"):
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".yaml", ".md", ".sh", ""}]
    return [path for path in found if path.is_file()]


def test_the_ui_is_started_on_loopback() -> None:
    lines = [line for line in (ROOT / "Makefile").read_text().splitlines() if "dagster dev" in line]
    assert lines
    assert all("-h 127.0.0.1" in line for line in lines)


def test_nothing_that_we_ship_binds_every_address() -> None:
    assert [path.name for path in shipped() if ANYWHERE.search(path.read_text())] == []
