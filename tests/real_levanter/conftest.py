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


def asking(name: str) -> Ask:
    """What puts jobs to a client that runs in the environment of the real Levanter."""
    python = os.environ.get("GRISTMILL_LEVANTER_PYTHON")
    if not python:
        pytest.skip("GRISTMILL_LEVANTER_PYTHON names no Python with requirements/levanter.txt")
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
