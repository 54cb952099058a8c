"""What listens, listens on this machine alone."""

import re
from argparse import ArgumentParser
from pathlib import Path

from gristmill.commands import ui
from resources.guarded_webserver import serve_parser

ROOT = Path(__file__).resolve().parent.parent.parent
ANYWHERE = re.compile(r"0\.0\.0\.0|\[::\]|--host[= ]\*")


def shipped() -> list[Path]:
    """Everything that starts something: make, scripts, code, settings, docs."""
    found = [ROOT / "Makefile", ROOT / "README.md", ROOT / "dagster.yaml", ROOT / "workspace.yaml"]
    for folder in ("scripts", "gristmill", "resources", "assets", "sensors", "docs", "bench", ".ci"):
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".yaml", ".md", ".sh", ""}]
    return [path for path in found if path.is_file()]


BARE = re.compile(
    r'"dagster-webserver"|"dagster_webserver"(?!: "ui"|, "starlette")|"dagster", "dev"'
    r"|(\$ |bin/)dagster(-webserver| dev)|-m dagster_webserver"
)
"""Not where the extra `ui` is asked for. Dagster's own web server does what any page in a browser asks."""


def test_the_ui_listens_on_loopback() -> None:
    parser = ArgumentParser()
    ui.declare(parser)
    assert parser.parse_args([]).host == "127.0.0.1"
    assert serve_parser().parse_args(["-w", "workspace.yaml"]).host == "127.0.0.1"


def test_nothing_that_we_ship_starts_the_web_server_without_the_guard() -> None:
    assert [path.name for path in shipped() if BARE.search(path.read_text())] == []


def test_nothing_that_we_ship_binds_every_address() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in shipped() if ANYWHERE.search(path.read_text())}
    # In hosts files, which block hosts, the address is no place to listen.
    assert found == {"gristmill/text/lists/url_lines.py", "docs/reference/taggers/lists.md"}
