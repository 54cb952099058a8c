"""A run waits for a database server that is away, longer than Dagster itself would."""

import subprocess
import sys

import pytest
import sqlalchemy as sa
from paths import ROOT
from postgres import PASSWORD, USER, Postgres

CONNECT = """
import resources.patience as it
from dagster_postgres.utils import create_pg_connection, create_pg_engine
from sqlalchemy.pool import NullPool
it.LINE = 9.0
it.be_patient()
engine = create_pg_engine(input(), poolclass=NullPool)
with create_pg_connection(engine):
    print("connected")
"""


@pytest.mark.slow
def test_a_process_connects_to_a_server_that_was_away_for_longer_than_dagster_waits() -> None:
    try:
        server = Postgres()
    except LookupError as missing:
        pytest.skip(str(missing))
    url = sa.URL.create("postgresql+psycopg2", USER, PASSWORD, "127.0.0.1", server.port, "postgres")
    server.process.kill()
    server.process.wait()
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CONNECT]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(url.render_as_string(hide_password=False) + "\n")
        process.stdin.flush()
        assert "s, this run waits: " in process.stderr.readline()
        server.serve()  # its old processes are gone by now
        said, _ = process.communicate()
        assert (said, process.returncode) == ("connected\n", 0)
    finally:
        process.kill()
        process.wait()
        server.close()
