"""The real Levanter as a client: jobs go to it as JSON, answers come back."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ask() -> Ask:
    return asking("levanter_client.py")


@pytest.fixture(scope="module")
def ask_examples() -> Ask:
    return asking("examples_client.py")


@pytest.fixture(scope="module")
def ask_old() -> Ask:
    return asking("old_levanter_client.py", "GRISTMILL_OLD_LEVANTER_PYTHON", "levanter==1.2.dev1644 chex GitPython")


def asking(name: str, variable: str = "GRISTMILL_LEVANTER_PYTHON", packages: str = "requirements/levanter.txt") -> Ask:
    """What puts jobs to a client that runs in the environment of a real Levanter."""
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} names no Python with {packages}")
    client = Path(__file__).with_name(name)

    def answers(*jobs: Mapping[str, object]) -> list[dict[str, Any]]:
        run = subprocess.run(
            [python, str(client)],
            input=json.dumps(jobs),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"},
        )
        assert run.returncode == 0, run.stderr
        found: list[dict[str, Any]] = json.loads(run.stdout)
        return found

    return answers
