"""Another program of the same trade: asked in an environment of its own, or quoted from what it answered before.

A recorded answer is found by a digest of the job and of all files that the job names. If our bytes change, there is no
answer for them: `make record` asks the peer anew.
"""

import gzip
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Job = Mapping[str, object]
Answers = list[dict[str, Any]]
Ask = Callable[..., Answers]


class Peer:
    """A client in the peer's environment. It answers a line of jobs with a line of answers, both JSON.

    It is started once for many questions, because importing the peer takes seconds.

    Args:
        python: the Python of the peer's environment.
        client: the script.
        log: takes what it writes to stderr.
        environment: further variables.
    """

    def __init__(self, python: str, client: Path, log: Path, environment: Mapping[str, str]) -> None:
        self._command = [python, str(client)]
        self._log = log
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, *jobs: Job) -> Answers:
        """The answers to some jobs."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(jobs) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, self._log.read_text()[-3000:]
        found: Answers = json.loads(line)
        return found

    def _started(self) -> subprocess.Popen[str]:
        """The client; it starts at the first question, or anew if an earlier question ended it."""
        if self._process is None or self._process.poll() is not None:
            with self._log.open("wb") as sink:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=sink,
                    text=True,
                    env={**os.environ, **self._environment},
                )
        return self._process

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


class Recorded:
    """What a peer answered to the questions of one test.

    Args:
        file: holds the answers.
        folder: of the test that asks; its name is left out of questions and answers.
        pins: the file that names the peer's version.
    """

    def __init__(self, file: Path, folder: Path, pins: Path) -> None:
        self._file = file
        self._folder = str(folder)
        self._pins = hashlib.sha256(pins.read_bytes()).hexdigest()
        self._answers: dict[str, dict[str, Any]] = {}
        if file.exists():
            known = json.loads(gzip.decompress(file.read_bytes()))
            assert known["pins"] == self._pins, f"{pins.name} has changed since {file.name} was recorded: make record"
            self._answers = known["answers"]

    def __call__(self, *jobs: Job) -> Answers:
        """The answers that were recorded for some jobs."""
        return self._look_up(jobs, [self._digest(job) for job in jobs])

    def compare(self, peer: Ask, *jobs: Job) -> Answers:
        """The peer's answers, which must be the recorded ones."""
        digests = [self._digest(job) for job in jobs]  # a job may write files: they are no part of the question
        found = peer(*jobs)
        assert found == self._look_up(jobs, digests), f"other answers than {self._file.name} has: make record"
        return found

    def record(self, peer: Ask, *jobs: Job) -> Answers:
        """The peer's answers, which are recorded."""
        digests = [self._digest(job) for job in jobs]
        found = peer(*jobs)
        for digest, answer in zip(digests, found, strict=True):
            self._answers[digest] = self._moved(answer, self._folder, "(folder)")
        text = json.dumps({"pins": self._pins, "answers": self._answers}, sort_keys=True, separators=(",", ":"))
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_bytes(gzip.compress(text.encode(), mtime=0))
        return found

    def _look_up(self, jobs: Sequence[Job], digests: Sequence[str]) -> Answers:
        found = [self._answers.get(digest) for digest in digests]
        lacking = [job for job, answer in zip(jobs, found, strict=True) if answer is None]
        assert not lacking, f"{self._file.name} has no answer to {str(lacking[0])[:300]}: make record"
        return [self._moved(answer, "(folder)", self._folder) for answer in found if answer is not None]

    def _moved(self, answer: dict[str, Any], old: str, new: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(answer).replace(old, new))
        return found

    def _digest(self, job: Job) -> str:
        """Of the job, and of the files below all folders that it names; notes about runs are left out."""
        text = json.dumps(job, sort_keys=True)
        digest = hashlib.sha256(text.replace(self._folder, "(folder)").encode())
        for path in sorted(set(re.findall(re.escape(self._folder) + r'[^"\\]*', text))):
            for file in sorted(file for file in Path(path).rglob("*") if file.is_file()):
                if not file.name.endswith(".run.json"):
                    digest.update(str(file.relative_to(path)).encode() + b"\0")
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()
