"""The environments of the peers: one each, made once below `.cache/bench`, from pinned requirements."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.harness.cost import ROOT, BenchError

CACHE = ROOT / ".cache" / "bench"
NEWER = ("3.13", "3.12", "3.11")
LEVANTER = "GRISTMILL_LEVANTER_PYTHON"
ENERGON = "GRISTMILL_ENERGON_PYTHON"
DOLMA = "GRISTMILL_DOLMA_PYTHON"
DATATROVE = "GRISTMILL_DATATROVE_PYTHON"


def dolma() -> Path:
    """The Python of the real Dolma's environment: the named one, or that of `make proofs`, made here if need be.

    Raises:
        BenchError: there is no Python 3.11, or the installation failed.
    """
    return _peer("dolma", DOLMA)


def datatrove(cache: Path = CACHE) -> Path:
    """The Python of an environment that has datatrove: the named one, or one that is made here if need be.

    Raises:
        BenchError: there is no fitting Python, or the installation failed.
    """
    named = os.environ.get(DATATROVE)
    if named:
        return Path(named)
    return environment(cache / "datatrove", ROOT / "bench" / "harness" / "requirements-datatrove.txt", NEWER)


def levanter() -> Path:
    """The Python of the real Levanter's environment: the named one, or that of `make proofs`, made here if need be.

    Raises:
        BenchError: there is no Python 3.12, or the installation failed.
    """
    return _peer("levanter", LEVANTER)


def energon() -> Path:
    """The Python of the real Energon's environment, as for Levanter.

    Raises:
        BenchError: there is no Python 3.11, or the installation failed.
    """
    return _peer("energon", ENERGON)


def _peer(name: str, variable: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named)
    maker = ROOT / "tests" / "support" / "drivers" / "peer_environment.py"
    return Path(_succeed([sys.executable, str(maker), name, str(ROOT / ".cache" / name)]).strip())


def environment(folder: Path, requirements: Path, fitting: Sequence[str]) -> Path:
    """The Python of an environment with these requirements; it is made unless it stands there with the same ones."""
    python, done = folder / "bin" / "python", folder / ".done"
    wanted = requirements.read_text()
    if done.exists() and done.read_text() == wanted:
        return python
    print(f"installing {requirements.name} into {folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder}")
    shutil.rmtree(folder, ignore_errors=True)
    _succeed([_fitting(fitting), "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _succeed([*pip, "--no-deps", "--require-hashes", "-r", str(requirements)])
    done.write_text(wanted)
    return python


def _fitting(fitting: Sequence[str]) -> str:
    """A Python of a version that the peer can be installed with."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" in fitting:
        return sys.executable
    for program in _candidates(fitting):
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if asked.stdout.startswith(tuple(f"Python {version}." for version in fitting)):
            return program
    raise BenchError(f"a peer needs a Python {', '.join(fitting)}; name a 3.12 by GRISTMILL_PYTHON312")


def _candidates(fitting: Sequence[str]) -> Iterator[str]:
    for name in (os.environ.get("GRISTMILL_PYTHON312", ""), *(f"python{version}" for version in fitting)):
        program = shutil.which(name) if name else None
        if program:
            yield program


def _succeed(command: list[str]) -> str:
    """What a program wrote to its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2_000:]}")
    return done.stdout
