"""Acquiring: real input for the sources `stdlib` and `packages`, from this machine and from a package index.

Each function writes with `put(path, data)`. It calls `have(path)` for the size of an object in the lake (None if it
is missing), so that a second call writes nothing. `say` takes lines of progress. Acquired code is never imported,
built or executed: packages come as wheels, which are archives, and must have the digests of a lock file.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.lake.address import check_snapshot, raw_folder
from gristmill.readers.python_metadata import distribution, normalise_package_name
from gristmill.readers.text import Unfit
from gristmill.readers.zip_archive import is_unsafe_path
from gristmill.reports.sizes import size_in_words

Put = Callable[[str, bytes], object]
Have = Callable[[str], int | None]
Say = Callable[[str], None]

INSTALLED = "installed"
"""The snapshot of `packages` that needs no network: the METADATA files of the installed distributions."""

_SKIPPED_FOLDERS = frozenset({"__pycache__", "dist-packages", "site-packages"})
_GENERATED = "_sysconfigdata_"  # it is written when Python is built, and contains paths of that machine
_LICENCES = frozenset({"LICENSE", "LICENSE.txt"})
_LOCKED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+]+)"
    r"(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
)
_LOCK_FILE = re.compile(r"packages-(?P<snapshot>.+)\.txt")


@dataclass(frozen=True)
class Acquired:
    """The result for one snapshot.

    Attributes:
        source: name of the source.
        snapshot: key of the snapshot.
        written: number of objects that were written now.
        kept: number of objects that the lake already held.
        size: bytes of both.
        trouble: a sentence for people, if the snapshot is not available; nothing of it was written then.
    """

    source: str
    snapshot: str
    written: int = 0
    kept: int = 0
    size: int = 0
    trouble: str = ""

    def __str__(self) -> str:
        place = raw_folder(self.source, self.snapshot)
        if self.trouble:
            return f"{place}: nothing acquired: {self.trouble}"
        return f"{place}: {self.written} objects written, {self.kept} kept, {size_in_words(self.size)}"


def acquire_stdlib(
    put: Put,
    have: Have,
    say: Say,
    *,
    library: Path | None = None,
    version: str | None = None,
) -> Acquired:
    """Acquires the source files of a Python's standard library, and the text of its licence if it is beside them.

    Installed packages, caches, and the module that each build generates are left out.

    Args:
        put: function that writes an object into the lake.
        have: function that returns the size of an object in the lake.
        say: function that takes lines of progress.
        library: folder of the library; by default that of the running Python.
        version: version of the library; by default that of the running Python. It is the key of the snapshot, such as
            `3.12.4`.

    Returns:
        The files that were acquired, and what went wrong.
    """
    root = library or Path(sysconfig.get_paths()["stdlib"])
    snapshot = re.sub(r"[^A-Za-z0-9._-]", "-", version or platform.python_version())
    start = Acquired("stdlib", check_snapshot(snapshot))
    try:
        files = {path.relative_to(root).as_posix(): path.read_bytes() for path in _library_files(root)}
    except OSError as error:
        return replace(start, trouble=f"the library cannot be read: {error}")
    if not any(name.endswith(".py") for name in files):
        return replace(start, trouble="this Python has no source files; use one that has")
    say(f"standard library of Python {snapshot}: {len(files)} files")
    return _deliver_files(start, files.items(), put, have)


def _library_files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(folder, name)
            source = name.endswith(".py") and not name.startswith(_GENERATED)
            licence = name in _LICENCES and path.parent == root
            if (source or licence) and not path.is_symlink():  # a link may lead out of the library
                yield path


def acquire_packages(put: Put, have: Have, say: Say, *, cache: Path, requirements: Path) -> Acquired:
    """Acquires one snapshot of the source `packages`: the wheels that the lock file `packages-<snapshot>.txt` names.

    Wheels that `cache` does not hold with the right digest are downloaded into it, with pip or with the pip of uv. The
    snapshot is written only if all its wheels are available.

    Args:
        put: function that writes an object into the lake.
        have: function that returns the size of an object in the lake.
        say: function that takes lines of progress.
        cache: folder of downloaded wheels.
        requirements: the lock file.

    Returns:
        The files that were acquired, and what went wrong.

    Raises:
        RecipeError: the lock file's name or one of its lines is wrong.
    """
    lock_file = _LOCK_FILE.fullmatch(requirements.name)
    if not lock_file:
        raise RecipeError(f"{requirements.name}: a lock file is named packages-<snapshot>.txt")
    start = Acquired("packages", check_snapshot(lock_file["snapshot"]))
    locked = read_lock(requirements)
    folder = cache / start.snapshot
    wheels = _locked_wheels(folder, locked)
    if len(wheels) < len(locked):
        trouble = _pip_download(requirements, folder, say)
        wheels = _locked_wheels(folder, locked)
        if len(wheels) < len(locked):
            missing = ", ".join(sorted(set(locked) - set(wheels)))
            reason = trouble or "pip reported no error"
            hint = f"the snapshot {INSTALLED!r} needs no network"
            return replace(start, trouble=f"not fetched: {missing} ({reason}); {hint}")
    say(f"packages of {start.snapshot}: {len(wheels)} wheels")
    return _deliver_files(start, ((path.name, path.read_bytes()) for _, path in sorted(wheels.items())), put, have)


def read_lock(requirements: Path) -> Mapping[str, frozenset[str]]:
    """The sha256 digests that a lock file allows, by `name==version` with normalised names.

    Raises:
        RecipeError: a line is neither a comment nor `name==version --hash=sha256:...`. A lock file must not contain
            pip's options, addresses or version ranges.
    """
    locked = {}
    for number, line in enumerate(requirements.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LOCKED.fullmatch(line.rstrip())
        if not match:
            raise RecipeError(f"{requirements.name}, line {number}: write name==version --hash=sha256:<digest>")
        hashes = frozenset(match["hashes"].replace(" --hash=sha256:", " ").split())
        locked[f"{normalise_package_name(match['name'])}=={match['version']}"] = hashes
    return locked


def _locked_wheels(folder: Path, locked: Mapping[str, frozenset[str]]) -> dict[str, Path]:
    """The wheels in a folder that have a locked digest; other files are ignored."""
    release_of = {digest: release for release, digests in locked.items() for digest in digests}
    wheels = {}
    for path in sorted(folder.glob("*.whl")):
        release = release_of.get(hashlib.sha256(path.read_bytes()).hexdigest())
        if release:
            wheels[release] = path
    return wheels


def _pip_download(requirements: Path, folder: Path, say: Say) -> str:
    """Runs `pip download`. Returns pip's error messages; empty if it succeeded."""
    pip = _pip_command()
    if not pip:
        return "neither pip nor uv is installed"
    folder.mkdir(parents=True, exist_ok=True)
    # No dependencies, no sdist (building one runs its code), nothing without a digest.
    command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-input"]
    command += ["--retries=2", "--progress-bar=off", "--disable-pip-version-check"]
    command += ["--requirement", str(requirements), "--dest", str(folder)]
    errors: deque[str] = deque(maxlen=3)
    try:
        with subprocess.Popen(  # noqa: S603 - a fixed command; the lock file's lines were checked
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        ) as process:
            for line in process.stdout or ():
                if line.lstrip().startswith("Downloading"):
                    say(line.strip())
                elif line.startswith(("ERROR", "error")):
                    errors.append(line.strip())
    except OSError as error:
        return f"pip could not be started: {error}"
    return " ".join(errors) or f"pip ended with code {process.returncode}" if process.returncode else ""


def _pip_command() -> Sequence[str]:
    """The command that runs pip: that of this Python, or that of uv; empty if neither is installed."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    uv = shutil.which("uv")
    return [uv, "tool", "run", "--python", sys.executable, "pip"] if uv else []


def acquire_installed(put: Put, have: Have, say: Say, *, path: list[str] | None = None) -> Acquired:
    """Acquires the snapshot `installed` of `packages`: the METADATA of each distribution that this Python can import.

    Args:
        put: function that writes an object into the lake.
        have: function that returns the size of an object in the lake.
        say: function that takes lines of progress, also for distributions that are skipped, with the reason.
        path: the folders to search; by default Python's search path.

    Returns:
        The files that were acquired, and what went wrong.
    """
    start = Acquired("packages", INSTALLED)
    distributions = importlib.metadata.distributions() if path is None else importlib.metadata.distributions(path=path)
    files: dict[str, bytes] = {}
    names: set[str] = set()
    for entry in distributions:
        try:
            metadata = (entry.read_text("METADATA") or "").encode("utf-8")
            release = distribution(metadata)
        except (Unfit, UnicodeError, OSError) as error:
            say(f"an installed distribution was skipped: {error}")
            continue
        name = f"{release.name}-{release.version}.dist-info/METADATA"
        if release.name in names or is_unsafe_path(name):
            say(f"an installed distribution was skipped: {name!r} is hidden by another, or is not a valid path")
            continue
        names.add(release.name)
        files[name] = metadata
    if not files:
        return replace(start, trouble="this Python has no distributions installed")
    say(f"installed distributions: {len(files)}")
    return _deliver_files(start, sorted(files.items()), put, have)


def _deliver_files(start: Acquired, files: Iterable[tuple[str, bytes]], put: Put, have: Have) -> Acquired:
    """Writes the files that the lake does not hold in the same size."""
    written = kept = size = 0
    for name, data in files:
        path = raw_folder(start.source, start.snapshot) + name
        if have(path) == len(data):
            kept += 1
        else:
            put(path, data)
            written += 1
        size += len(data)
    return replace(start, written=written, kept=kept, size=size)
