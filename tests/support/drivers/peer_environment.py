"""Makes the environment of a real peer: `python tests/support/drivers/peer_environment.py NAME DIR`.

Writes the new environment's Python to stdout, for GRISTMILL_LEVANTER_PYTHON, GRISTMILL_ENERGON_PYTHON,
GRISTMILL_DOLMA_PYTHON or GRISTMILL_DATATROVE_PYTHON. NAME is levanter, energon, dolma or datatrove. What is already
installed there is kept. NAME lowest makes the environment of the lowest versions that our metadata allow.

Levanter needs a Python 3.12, 2 minutes and 1.9 GB; Energon a Python 3.11, 2 minutes and 1.3 GB; Dolma a Python 3.11,
1 minute and 0.6 GB; datatrove a Python 3.11, 1 minute and 0.7 GB. The Python is found by GRISTMILL_PYTHON312 or
GRISTMILL_PYTHON311, on PATH or among pyenv's.

On Linux, Energon needs PyTorch's CPU build: tell pip where it is, by PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]


class Recipe(NamedTuple):
    """What an environment consists of; `locks` are files of this checkout."""

    version: str
    module: str
    locks: tuple[str, ...]


RECIPES = {
    "levanter": Recipe("3.12", "levanter", ("requirements/levanter.txt",)),
    "energon": Recipe("3.11", "megatron.energon", ("requirements/energon.txt", "requirements/torch.txt")),
    "dolma": Recipe("3.11", "dolma", ("bench/harness/requirements-dolma.txt",)),
    "lowest": Recipe("3.11", "dagster", ("requirements/lowest.txt",)),
    "datatrove": Recipe("3.11", "datatrove", ("bench/harness/requirements-datatrove.txt",)),
}


def candidates(version: str) -> Iterator[str]:
    """Programs that may be this Python, the likeliest first."""
    yield os.environ.get(variable(version), "")
    yield sys.executable
    yield shutil.which(f"python{version}") or ""
    pyenv = shutil.which("pyenv")
    if pyenv:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        yield from sorted(map(str, Path(root).glob(f"versions/{version}*/bin/python")), reverse=True)


def variable(version: str) -> str:
    """Names a Python of this version."""
    return f"GRISTMILL_PYTHON{version.replace('.', '')}"


def runs(program: str, version: str) -> bool:
    """Whether the program runs and is this Python (pyenv has shims also for versions that are not chosen)."""
    if not program:
        return False
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return run.stdout.startswith(f"Python {version}.")


def main(peer: str, folder: Path) -> str:
    """The environment's Python."""
    version, module, locks = RECIPES[peer]
    python = folder / "bin" / "python"
    if not python.exists():
        found = next((program for program in candidates(version) if runs(program, version)), None)
        if found is None:
            sys.exit(f"no Python {version}: name one by {variable(version)}")
        subprocess.run([found, "-m", "venv", str(folder)], check=True)
    if not imports(python, module):
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        install += [word for name in locks for word in ("--requirement", str(ROOT / name))]
        subprocess.run(install, check=True, stdout=sys.stderr)
        if not imports(python, module):
            sys.exit(f"{module} was installed, and cannot be imported")
    return str(python)


def imports(python: Path, module: str) -> bool:
    """Whether the environment has the peer."""
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1], Path(sys.argv[2]).absolute()) + "\n")
