"""A project of verses whose recipes use a package with plug-ins, and a broken package beside it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import copytree

from paths import ROOT

BROKEN = ROOT / "tests" / "support" / "plugins"
EXTRAS = ROOT / "tests" / "support" / "extras_package"


def lay(site: Path) -> Path:
    """Lays the packages into a folder as pip does it."""
    copytree(BROKEN, site)
    copytree(EXTRAS / "millextras", site / "millextras")
    project = tomllib.loads((EXTRAS / "pyproject.toml").read_text())["project"]
    about = site / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"]
    lines = [line for group in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in groups[group].items()))]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return site


RECIPES = {
    "sources/verses.py": """
from gristmill.recipes.source import Source
from millextras.verses import Verses
VERSES = Source(name="verses", convert=Verses(source="verses"), select=r"\\.txt$")
""",
    "taggers/verse_lines.py": "from millextras.verse_lines import VERSE_LINES\n",
    "mixes/songs.py": """
from gristmill.recipes.mix import Mix, Stream
SONGS = Mix(name="songs", streams=(Stream(source="verses", version="v0"),))
""",
    "transforms/calmer.py": "from millextras.calmer import CALMER\n",
    "mixes/calm.py": """
from gristmill.recipes.mix import Mix, Stream
CALM = Mix(name="calm", streams=(Stream(source="verses", version="v0", transforms=("calmer-1",)),))
""",
    "lengths/short.py": """
from millextras.lengths import Lengths
SHORT = Lengths(name="short-1", sources=("verses/v0",), width=10)
""",
    "exports/titles.py": """
from gristmill.recipes.export import Export
from millextras.titles import Titles
TITLES = Export(name="titles", mixes=("songs",), format=Titles(between=" = "))
""",
}
VERSES = {"a.txt": "The mill\nIt turns!\n", "b.txt": "The stone\nIt grinds.\n", "c.txt": "\nIt has no title.\n"}


def write_project(top: Path) -> None:
    """Writes the shelves of a project, and the raw data of its verses."""
    for name, text in RECIPES.items():
        file = top / "songbook" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text)
    (top / "songbook" / "__init__.py").touch()
    (top / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["songbook"]\nlake = "lake"\n')
    for name, text in VERSES.items():
        file = top / "lake/sources/verses/raw/1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class Songs:
    """A project with verses, and the packages that are installed for it."""

    def __init__(self, top: Path) -> None:
        self.top, self.site = top, lay(top / "site")
        write_project(top)

    def run(self, *words: str, **variables: str) -> tuple[int, str]:
        """The exit code of a command, and all that it printed."""
        return self._run(["-m", "gristmill", *words], variables)

    def python(self, script: str) -> tuple[int, str]:
        """The exit code of a script of Python, and all that it printed."""
        return self._run(["-c", script], {})

    def _run(self, words: list[str], variables: dict[str, str]) -> tuple[int, str]:
        path = os.pathsep.join((str(self.site), str(ROOT), str(self.top)))
        command = [sys.executable, *words]
        environment = os.environ | {"PYTHONPATH": path, "GRISTMILL_ENGINE": "inline", **variables}
        done = subprocess.run(
            command,
            cwd=self.top,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def edit(self, name: str, old: str, new: str) -> None:
        """Changes a module of the installed package."""
        file = self.site / "millextras" / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
