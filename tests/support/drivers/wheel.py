"""Gristmill as it is installed: sdist and wheel, built from the checkout, and environments with the wheel alone."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from paths import ROOT

PINS = ROOT / "requirements" / "app.txt"


def run(*command: str | Path, cwd: Path) -> str:
    """What a command writes. It knows nothing of this checkout, nor of this process's settings of Gristmill."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GRISTMILL", "DAGSTER", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def build(checkout: Path, folder: Path, *targets: str) -> list[Path]:
    """Builds `sdist` or `wheel` of a checkout or of an unpacked sdist, by the hatchling that is installed here."""
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, *(f"-t{each}" for each in targets), cwd=checkout)
    return sorted(folder.iterdir())


def unpacked(sdist: Path, folder: Path) -> Path:
    """The folder that an sdist holds."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def python_of(version: str) -> str | None:
    """A Python such as 3.12: this one, one on PATH, or pyenv's newest; None if the machine has none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    places = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")), reverse=True)]
    for program in filter(None, places):  # pyenv's shims are there for versions that are not chosen
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if asked.stdout.startswith(f"Python {version}."):
            return program
    return None


def pinned(python: str | Path) -> Path:
    """The folder of an environment with the pinned packages; made once for each Python and lock, in .cache/wheel."""
    named = run(python, "-c", "import platform; print(platform.python_version())", cwd=ROOT).strip()
    kept = ROOT / ".cache" / "wheel" / f"{named}-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:  # nobody ever removes it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / "finished").exists():
            shutil.rmtree(kept, ignore_errors=True)
            run(python, "-m", "venv", kept, cwd=ROOT)
            pip(kept / "bin" / "python", "-r", PINS)
            (kept / "finished").touch()
    return kept


def environment(folder: Path, python: str | Path) -> Path:
    """An environment with the packages that requirements/app.txt pins, and without Gristmill; its python.

    Its files are links to those of `pinned`.
    """
    shutil.copytree(pinned(python), folder, symlinks=True, copy_function=_link)
    return folder / "bin" / "python"


def _link(file: str, copy: str) -> None:
    if Path(file).is_symlink():
        Path(copy).symlink_to(Path(file).readlink())
        return
    try:
        os.link(file, copy)
    except OSError:  # another disk
        shutil.copy2(file, copy)


def pip(inside: Path, *what: str | Path) -> None:
    """Installs what has hashes."""
    quiet = ("--quiet", "--disable-pip-version-check", "--no-build-isolation")
    run(inside, "-m", "pip", "install", "--no-deps", "--require-hashes", *quiet, *what, cwd=ROOT)


def install(inside: Path, package: Path, work: Path) -> None:
    """Installs a wheel into an environment, as a requirement that names the file and its digest."""
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    named, name = work / "wheel.txt", package.name.partition("-")[0]
    named.write_text(f"{name} @ {package.resolve().as_uri()} --hash=sha256:{digest}\n")
    pip(inside, "-r", named)


def installed_wheel(folder: Path, python: str | Path) -> Path:
    """Builds the wheel of this checkout and installs it into an empty environment.

    Args:
        folder: an empty folder; the environment is `env` in it.
        python: the program that makes the environment: Python 3.11 or newer.

    Returns:
        The environment's python; `gristmill` stands beside it.
    """
    (wheel,) = build(ROOT, folder / "dist", "wheel")
    inside = environment(folder / "env", python)
    install(inside, wheel, folder)
    return inside


BARE = """
from importlib.metadata import distribution, distributions
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name as canonical
needed, todo = set(), [("gristmill", "")]
while todo:
    name, extra = todo.pop()
    for need in map(Requirement, distribution(name).requires or ()):
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            todo += {(canonical(need.name), each) for each in ("", *need.extras)} - needed
    needed.add((name, extra))
kept = {"pip", *(name for name, _ in needed)}
print(*{canonical(each.metadata["Name"]) for each in distributions()} - kept)
"""
"""Names what an environment has beside that which Gristmill needs without extras."""


def without_extras(inside: Path) -> list[str]:
    """Removes from an environment what `pip install gristmill` would not bring.

    Args:
        inside: the environment's python.

    Returns:
        The names of the removed packages.
    """
    found = run(inside, "-c", BARE, cwd=inside.parent).split()
    run(inside, "-m", "pip", "uninstall", "--yes", "--quiet", *found, cwd=inside.parent)
    return found


if __name__ == "__main__":  # CI installs the packages beside others
    pinned(sys.executable)
