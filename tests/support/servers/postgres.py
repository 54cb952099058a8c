"""A real Postgres for the tests: on loopback, with its own data folder, ended by its own process id."""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

USER = "gristmill"
PASSWORD = "a-test-password-that-must-never-be-seen"
_START = 60
"""Seconds to wait for its first answer."""


class Postgres:
    """A server without databases of ours, until create() makes one.

    Raises:
        LookupError: this machine has no Postgres, or nobody who may run it; the message says which.
    """

    def __init__(self) -> None:
        self._programs = _programs()
        self._owner = _owner()
        self.folder = Path(tempfile.mkdtemp(prefix="gristmill-postgres-"))  # its owner cannot enter pytest's folders
        if self._owner:
            shutil.chown(self.folder, self._owner)
        self.port = _free_port()
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        how = [f"--username={USER}", f"--pwfile={secret}", "--auth=scram-sha-256"]
        subprocess.run(
            [
                str(self._programs / "initdb"),
                "-D",
                str(self.folder / "data"),
                *how,
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ],
            cwd=self.folder,
            user=self._owner,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        secret.unlink()
        self.serve()
        self._wait()

    def serve(self) -> subprocess.Popen[bytes]:
        """Starts the server on its data, also after it was killed. It ends at once while others still use them."""
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.folder / "data"), *options],
                cwd=self.folder,
                user=self._owner,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def environment(self, database: str) -> dict[str, str]:
        """What docs/production/dagster.yaml reads of it."""
        return {
            "DAGSTER_PG_HOST": "127.0.0.1",
            "DAGSTER_PG_PORT": str(self.port),
            "DAGSTER_PG_USER": USER,
            "DAGSTER_PG_PASSWORD": PASSWORD,
            "DAGSTER_PG_DB": database,
        }

    def create(self, database: str) -> dict[str, str]:
        """Makes an empty database; its environment."""
        self.ask("postgres", f'CREATE DATABASE "{database}"')
        return self.environment(database)

    def drop(self, database: str) -> None:
        """The database is lost, whoever is connected to it."""
        self.ask("postgres", f'DROP DATABASE "{database}" WITH (FORCE)')

    def ask(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """The rows that a statement gives."""
        where = sa.URL.create("postgresql+psycopg2", USER, PASSWORD, "127.0.0.1", self.port, database)
        engine = sa.create_engine(where, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
        with engine.connect() as connection:
            found = connection.execute(sa.text(statement))
            return [tuple(row) for row in found] if found.returns_rows else []

    def _wait(self) -> None:
        end = time.monotonic() + _START
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                self.ask("postgres", "SELECT 1")
            except sa.exc.OperationalError:
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.1)
            else:
                return

    def close(self) -> None:
        """Ends it at once, and removes its data."""
        self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)


def _programs() -> Path:
    """The folder of initdb and postgres: one on PATH, else the newest of Debian's."""
    found = shutil.which("initdb")
    on_path = [Path(found).resolve().parent] if found else []
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.parent.name)],
        reverse=True,
    )
    for folder in [*on_path, *debian]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise LookupError("no Postgres server on PATH or under /usr/lib/postgresql")


def _owner() -> str | None:
    """Whom to run it as: Postgres refuses root."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name for user in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    raise LookupError("Postgres refuses to run as root, and there is no user `postgres` or `nobody`")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
