"""make audit: the pinned packages against the published advisories; and nothing installed that no lock names."""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from gristmill.environment import CHECKOUT
from scripts.ci import NO_SERVICE
from scripts.progress import say, stop

LOCKS = ("app", "extras", "test")
OURS = {"pip", "setuptools", "wheel"}
"""What a fresh virtual environment brings."""


def lock(name: str) -> Path:
    """A file of pinned packages."""
    return CHECKOUT / "requirements" / f"{name}.txt"


def pins(name: str) -> set[str]:
    """The names of all packages of a lock."""
    lines = lock(name).read_text().splitlines()
    return {_plain(line.split("==")[0]) for line in lines if re.match(r"[A-Za-z0-9]", line)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def strays() -> list[str]:
    """Installed packages that no lock names."""
    return sorted(
        {_plain(each.metadata["Name"]) for each in distributions()}
        - {pin for name in LOCKS for pin in pins(name)}
        - OURS
    )


def advisories(name: str) -> tuple[int, list[str], list[str]]:
    """Asks the service of advisories about a lock.

    Returns:
        How many packages it knew, the names of those that it did not know, and what it has against the others.
    """
    command = [sys.executable, "-m", "pip_audit", "-r", str(lock(name)), "--no-deps", "--disable-pip"]
    command += ["-f", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["dependencies"] if done.stdout.strip() else []
    known = [
        f"{each['name']} {each['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no release'}"
        for each in found
        for flaw in each.get("vulns", [])
    ]
    if not found:
        return 0, sorted(pins(name)), []
    return sum("vulns" in each for each in found), [each["name"] for each in found if "skip_reason" in each], known


def look_up() -> str:
    """Asks about all locks; a line that says that nothing is known against them.

    Raises:
        SystemExit: something is known, or packages could not be looked up; with the word NO_SERVICE if none could.
    """
    looked, unknown, flaws = 0, set[str](), set[str]()
    for name in LOCKS:
        there, missing, known = advisories(name)
        looked, unknown, flaws = looked + there, unknown | set(missing), flaws | set(known)
    for flaw in sorted(flaws):
        say(flaw)
    if flaws:
        stop(f"{len(flaws)} advisories against pinned packages: raise the pins (`make lock`)")
    if not looked:
        stop(f"{NO_SERVICE}: none of {len(unknown)} pinned packages was looked up; run `make audit` with a network")
    if unknown:
        stop(f"{len(unknown)} pinned packages could not be looked up: {', '.join(sorted(unknown))}")
    return f"{looked} pins looked up, nothing known against them"


def main() -> None:
    """Exits with 1 at a finding, or if something unpinned is installed."""
    unpinned = strays()
    if unpinned:
        stop(f"installed, but in no file of requirements/: {', '.join(unpinned)}")
    say(f"{look_up()}; nothing installed that no lock names")


if __name__ == "__main__":
    main()
