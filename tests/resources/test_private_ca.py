"""A server whose certificate is of a private CA: the webhook and the lake take it by SSL_CERT_FILE, and not without."""

import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from paths import ROOT, python_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]

POST = (
    "from resources.webhook import post_message;"
    ' post_message("https://localhost:{port}/hook", {{"text": "x"}}, waits=())'
)
HEAD = (
    "from obstore import head; from obstore.store import S3Store;"
    ' head(S3Store("corpus", endpoint="https://localhost:{port}", region="us-east-1", access_key_id="a",'
    ' secret_access_key="b", retry_config={{"max_retries": 0}}), "lake.json")'
)


class Answers(BaseHTTPRequestHandler):
    """Takes every message, and has no object."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server on loopback; `ca.pem` is the certificate of its CA."""
    ca, key, asked, name = (str(tmp_path / each) for each in ("ca.pem", "ca.key", "asked", "name"))
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", ca, "-subj", "/CN=own")
    own = str(tmp_path / "own.key")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", own, "-out", asked, "-subj", "/CN=localhost")
    Path(name).write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    made = str(tmp_path / "own.pem")
    openssl("x509", "-req", "-in", asked, "-CA", ca, "-CAkey", key, "-set_serial", "1", "-extfile", name, "-out", made)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, own)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def said(words: str, port: int, **variables: str) -> str:
    """What a process says of an error; empty if nothing is wrong."""
    done = subprocess.run(
        [sys.executable, "-c", words.format(port=port)],
        env={"PYTHONPATH": python_path(), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_the_webhook_is_known_by_ssl_cert_file(port: int, tmp_path: Path) -> None:
    assert "certificate verify failed" in said(POST, port)
    assert said(POST, port, SSL_CERT_FILE=str(tmp_path / "ca.pem")) == ""


def test_the_server_of_the_lake_is_known_by_ssl_cert_file_and_by_no_other_variable(port: int, tmp_path: Path) -> None:
    ca = str(tmp_path / "ca.pem")
    answered = "404 Not Found"
    assert answered in said(HEAD, port, SSL_CERT_FILE=ca)
    assert answered not in said(HEAD, port)
    assert answered not in said(HEAD, port, AWS_CA_BUNDLE=ca)
