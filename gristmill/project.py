"""A project: a folder whose pyproject.toml has a table `[tool.gristmill]`, which names its recipes and its lake.

[tool.gristmill]
shelves = ["mycorpus"]     # packages with recipes; `gristmill` too, if its own are wanted
lake = "lake"              # relative to this file, or s3://bucket/prefix; "lake" if it is not given
"""

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gristmill.errors import RecipeError

FILE = "pyproject.toml"
KEYS = ("shelves", "lake")

_LONGEST = 16 << 20
"""Bytes of a pyproject.toml that are read at most."""
_LAKE_FILE = "lake.json"
_LAKE_ID = re.compile(rb'"id"\s*:\s*"[0-9a-f]{32}"')
_PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of a project, and what its table says.

    Attributes:
        folder: absolute path of the folder with the pyproject.toml.
        shelves: the packages that hold its recipes.
        lake: absolute path of its lake, or s3://bucket/prefix.
    """

    folder: str
    shelves: tuple[str, ...]
    lake: str

    @property
    def home(self) -> str:
        """The folder where Dagster keeps its files, unless DAGSTER_HOME says otherwise."""
        return str(Path(self.folder) / ".dagster")

    def put_on_path(self) -> None:
        """Lets Python import the project's packages: from its folder, and from `src` in it."""
        for folder in (str(Path(self.folder) / "src"), self.folder):
            if Path(folder).is_dir() and folder not in sys.path:
                sys.path.insert(0, folder)

    def check_outside(self, lake: str) -> None:
        """Refuses a project in a folder lake: whoever may write data there could run code by it.

        Raises:
            RecipeError: the project's folder is the lake's, or is in it.
        """
        if "://" not in lake and Path(self.folder).resolve().is_relative_to(Path(lake).resolve()):
            raise _is_in_lake(self.folder, lake)


def find_project(start: Path | None = None) -> Project | None:
    """The project of a folder: the nearest one at it or above it; None if there is no project.

    Args:
        start: a folder; by default the current one.

    Raises:
        RecipeError: a key of the table is unknown, or its value is wrong; or the project is in a folder lake.
    """
    here = (start or Path.cwd()).absolute()
    found: Project | None = None
    for folder in (here, *here.parents):
        file = folder / FILE
        table = _read_tool_table(file)
        if table is None:
            continue
        project = _project_from_table(file, table)
        if found is None:
            found = project
            for above in (folder, *folder.parents):
                if mark := _mark_of_lake(above):
                    raise _is_in_lake(project.folder, str(above), mark)
        else:
            found.check_outside(project.lake)
    return found


def _is_in_lake(project: str, lake: str, mark: Path | None = None) -> RecipeError:
    return RecipeError(
        f"the project {project} is in the lake {lake}; whoever may write data there could run code by it."
        " Move the project out of the lake, or start in another folder"
        + (f"; if {lake} is no lake, remove {mark}" if mark else "")
    )


def is_lake(folder: Path) -> bool:
    """Whether a folder is a lake: it has a lake's id (a file of this name by others has another form), or raw data.

    Where raw data lie, nobody may have made anything yet, so they are looked for by their folders alone.
    """
    return _mark_of_lake(folder) is not None


def _mark_of_lake(folder: Path) -> Path | None:
    """What makes a folder a lake, see is_lake(); None if nothing does."""
    try:
        raw = next((each for each in sorted((folder / "sources").glob("*/raw")) if each.is_dir()), None)
        if raw is not None:
            return raw
        with (folder / _LAKE_FILE).open("rb") as file:
            return folder / _LAKE_FILE if _LAKE_ID.search(file.read(4096)) else None
    except OSError:
        return None


def _read_tool_table(file: Path) -> Mapping[str, Any] | None:
    """The table of a pyproject.toml; None if there is no such file, or it has no such table.

    Raises:
        RecipeError: it is no plain file, cannot be read, or is no TOML.
    """
    try:
        if not file.is_file():
            if os.path.lexists(file):
                raise RecipeError(
                    f"{file} is no plain file, or a link to nothing; remove it, or start in another folder"
                )
            return None
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
    except OSError as error:
        raise RecipeError(f"{file} cannot be read: {error.strerror}; mend this file") from error
    if len(data) > _LONGEST:
        raise RecipeError(f"{file} has more than {_LONGEST:,} bytes; mend this file")
    if b"gristmill" not in data:  # a file of others is not parsed: its errors are not ours
        return None
    try:
        tool = tomllib.loads(data.decode()).get("tool", {})
    except (ValueError, RecursionError) as error:  # neither UTF-8 nor TOML
        raise RecipeError(f"{file} cannot be read: {error}; mend this file") from error
    table = tool.get("gristmill") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise RecipeError(f"{file}: tool.gristmill is {table!r}; write a table, [tool.gristmill]")
    return table


def _project_from_table(file: Path, table: Mapping[str, Any]) -> Project:
    unknown = [key for key in table if key not in KEYS]
    if unknown:
        raise RecipeError(
            f"{file}: [tool.gristmill] has the unknown key {unknown[0]!r}; its keys are {', '.join(KEYS)}"
        )
    shelves, lake = table.get("shelves"), table.get("lake", "lake")
    if not isinstance(shelves, list) or not all(isinstance(name, str) and _PACKAGE.fullmatch(name) for name in shelves):
        raise RecipeError(
            f'{file}: [tool.gristmill] shelves is {shelves!r}; give a list of packages, such as shelves = ["mycorpus"]'
        )
    if not shelves:
        raise RecipeError(f"{file}: [tool.gristmill] shelves is empty; name the packages with recipes")
    if not isinstance(lake, str) or not lake or "\x00" in lake:
        raise RecipeError(
            f"{file}: [tool.gristmill] lake is {lake!r}; give a folder relative to this file, or s3://bucket/prefix"
        )
    if "://" not in lake:
        try:
            lake = str((file.parent / Path(lake).expanduser()).absolute())
        except RuntimeError as error:  # ~ of nobody
            raise RecipeError(f"{file}: [tool.gristmill] lake is {lake!r}: {error}; write the folder's path") from error
    return Project(str(file.parent), tuple(dict.fromkeys(shelves)), lake)
