"""make audit: the pinned packages against the published advisories; and nothing installed that no lock names."""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from gristmill.environment import CHECKOUT
from scripts.progress import say, stop

LOCKS = ("app", "extras", "test")
OURS = {"pip", "setuptools", "wheel"}
"""What a fresh virtual environment brings."""


def lock(name: str) -> Path:
    """A file of pinned packages."""
    return CHECKOUT / "requirements" / f"{name}.txt"


def pinned() -> set[str]:
    """The names of all packages that a lock names."""
    lines = (line for name in LOCKS for line in lock(name).read_text().splitlines())
    return {_plain(line.split("==")[0]) for line in lines if re.match(r"[A-Za-z0-9]", line)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def strays() -> list[str]:
    """Installed packages that no lock names."""
    return sorted({_plain(each.metadata["Name"]) for each in distributions()} - pinned() - OURS)


def advisories(name: str) -> tuple[int, int, list[str]]:
    """How many packages of a lock were looked up, how many could not be, and what is known against them."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(lock(name)), "--no-deps", "--disable-pip"]
    command += ["-f", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        return 0, 1, []
    found = json.loads(done.stdout)["dependencies"]
    known = [
        f"{each['name']} {each['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no release'}"
        for each in found
        for flaw in each.get("vulns", [])
    ]
    return sum("vulns" in each for each in found), sum("skip_reason" in each for each in found), known


def main() -> None:
    """Exits with 1 if anything is known against a pinned package, or something unpinned is installed."""
    unpinned = strays()
    if unpinned:
        stop(f"installed, but in no file of requirements/: {', '.join(unpinned)}")
    looked = skipped = 0
    flaws: list[str] = []
    for name in LOCKS:
        there, missing, known = advisories(name)
        looked, skipped, flaws = looked + there, skipped + missing, flaws + known
    for flaw in sorted(set(flaws)):
        say(flaw)
    if flaws:
        stop(f"{len(set(flaws))} advisories against pinned packages: raise the pins (`make lock`)")
    if skipped:
        say(f"NOT AUDITED: the service of advisories knew {looked} of {looked + skipped} pins, or did not answer")
    else:
        say(f"{looked} pins looked up, nothing known against them; nothing installed that no lock names")


if __name__ == "__main__":
    main()
