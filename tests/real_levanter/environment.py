"""Makes the environment of the real Levanter: `python tests/real_levanter/environment.py FOLDER`.

Needs a Python 3.12, found by GRISTMILL_PYTHON312, on PATH or among pyenv's. Writes the new environment's Python to
stdout, for GRISTMILL_LEVANTER_PYTHON. Takes 2 minutes and 1.9 GB; what is already there is kept.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "levanter.txt"


def candidates() -> Iterator[str]:
    """Programs that may be Python 3.12, the likeliest first."""
    yield os.environ.get("GRISTMILL_PYTHON312", "")
    yield shutil.which("python3.12") or ""
    pyenv = shutil.which("pyenv")
    if pyenv:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        yield from sorted(map(str, Path(root).glob("versions/3.12*/bin/python")), reverse=True)


def is_python312(program: str) -> bool:
    """Whether the program runs and is Python 3.12 (pyenv's shims exist for versions that are not chosen)."""
    if not program:
        return False
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return run.stdout.startswith("Python 3.12")


def main(folder: Path) -> str:
    """The environment's Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        found = next(filter(is_python312, candidates()), None)
        if found is None:
            sys.exit("no Python 3.12: name one by GRISTMILL_PYTHON312")
        subprocess.run([found, "-m", "venv", str(folder)], check=True)
    installed = subprocess.run([python, "-c", "import levanter"], capture_output=True, check=False)
    if installed.returncode:
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        install += ["--requirement", str(REQUIREMENTS)]
        subprocess.run(install, check=True, stdout=sys.stderr)
    return str(python)


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1]).absolute()) + "\n")
