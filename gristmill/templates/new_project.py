"""A new project: its names, its folder, and its files, written from the templates in gristmill/templates/project.

Nothing is half-written: all files are written to a hidden folder first, and then renamed into place.
"""

import importlib.util
import json
import keyword
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name
from gristmill.lake.asset_kinds import LEDGER_TOPS
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.recipes.shelf import HOME, read_shelf
from gristmill.recipes.source import Source

TEMPLATES = Path(__file__).resolve().parent / "project"
SUFFIX = ".template"
FIRST = "first"
"""The snapshot that the tokenizer of a new project is trained on."""
SHARDS = 16
"""Shards of a new project's source."""
MOST_SHARDS = 10_000
LONGEST = 40
"""Characters of a name: it stands in many names of assets and files, with others."""

_HARMLESS = frozenset({".git", ".venv", ".DS_Store"})
"""What a folder may hold that counts as empty: a repository, an environment and a desktop's notes."""
_TAKEN = frozenset({"demo", "lake", "tests"})
"""The other folders of a project."""


@dataclass(frozen=True)
class Names:
    """The names of a new project.

    Attributes:
        name: name of the source, in words joined by '-'.
        package: name of the package with the recipes, in words joined by '_'.
    """

    name: str
    package: str


def names_of(given: str, folder: Path) -> Names:
    """The names of a project.

    Args:
        given: the name, with '-' or '_' between words.
        folder: the project's folder; packages in it or beside it are no reason to refuse a name.

    Raises:
        RecipeError: no source or no package can have this name, or a package of the name is there already.

    >>> names_of("my-corpus", Path("my-corpus"))
    Names(name='my-corpus', package='my_corpus')
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*", given):
        words = re.findall(r"[a-z0-9]+", given.lower().lstrip("0123456789"))
        raise RecipeError(
            f"{given!r} cannot be the name of a project: give lower-case letters and digits in words joined by '-', a"
            f" letter first, such as {'-'.join(words) or 'my-corpus'!r}; --name names it otherwise than its folder"
        )
    if len(given) > LONGEST:
        raise RecipeError(f"the name {given!r} has {len(given)} characters; give at most {LONGEST}")
    name, package = given.replace("_", "-"), given.replace("-", "_")
    check_name(name, "project")
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise RecipeError(f"{given!r} is a word of Python, so no package can have this name; choose another")
    if package in _TAKEN:
        raise RecipeError(f"{given!r} is the name of another folder of a project; choose another name")
    if package in sys.stdlib_module_names:
        raise RecipeError(f"{given!r} is the name of a module of Python's library, which it would hide; choose another")
    place = _installed_elsewhere(package, folder)
    if place:
        raise RecipeError(f"Python finds a package {package!r} already, at {place}; choose another name")
    if name in read_shelf("sources", Source, (HOME,)):
        raise RecipeError(f"{given!r} is the name of a source of Gristmill's own; choose another name")
    return Names(name, package)


def _installed_elsewhere(package: str, folder: Path) -> str:
    """Where a package of this name is installed; empty if it is nowhere but in the project or beside it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError) as error:  # a package that is loaded in a way of its own
        return str(error)
    if spec is None:
        return ""
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else [])]
    near = {folder.resolve(), folder.resolve().parent}
    far = [place for place in places if not near & set(Path(place).resolve().parents[:2])]
    return far[0] if far else ""


def check_folder(folder: Path, lake: str) -> None:
    """Checks that a project may be written to a folder.

    Args:
        folder: an absolute path.
        lake: the lake of the environment; a bucket holds no projects.

    Raises:
        RecipeError: it is no folder, is not empty, or is in a lake; or the folder above it is not there.
    """
    if not folder.parent.is_dir():
        raise RecipeError(f"{folder.parent} is not a folder; make it first, or choose another place")
    if folder.exists() and not folder.is_dir():
        raise RecipeError(f"{folder} is a file; choose another name")
    inside = sorted({entry.name for entry in folder.iterdir()} - _HARMLESS) if folder.exists() else []
    if inside:
        few = ", ".join([*inside[:3], *["..."][: len(inside) - 3]])
        raise RecipeError(f"{folder} is not empty: it holds {few}; give a new or an empty folder. Nothing was written")
    real = folder.resolve()
    lakes = [Path(lake).resolve()] if "://" not in lake else []
    lakes += [above for above in (real, *real.parents) if _is_lake(above)]
    for root in lakes:
        if real.is_relative_to(root):
            raise RecipeError(
                f"{folder} is in the lake {root}; whoever may write data there could run code by a project. Choose a"
                " folder outside of it"
            )


def _is_lake(folder: Path) -> bool:
    """Whether a folder is the root of a lake: it has the lake's id, and one of the lake's folders."""
    return (folder / LAKE_FILE).is_file() and any((folder / top).is_dir() for top in LEDGER_TOPS)


def project_files(names: Names, shelves: Sequence[str], shards: int) -> dict[str, bytes]:
    """The files of a project, by path, sorted. The same arguments give the same bytes.

    Args:
        names: names of the project.
        shelves: packages with recipes, for its pyproject.toml.
        shards: number of shards of its source.
    """
    values = {
        "@name@": names.name,
        "@package@": names.package,
        "@CONSTANT@": names.package.upper(),
        "@shelves@": json.dumps(list(shelves)),
        "@count@": str(shards),
        **mix_values("base", names.name, "v1", f'("{names.name}-bpe-1",)'),
        **tagger_values("prose", 1),
    }
    found = {
        _template_target_path(path, names): fill_template(path.read_text("utf-8"), values)
        for path in TEMPLATES.rglob(f"*{SUFFIX}")
    }
    return {path: text.encode() for path, text in sorted(found.items())}


def _template_target_path(template: Path, names: Names) -> str:
    """The path in the project: `dot-` begins a hidden name, and names stand where the template has `_package_`."""
    parts = template.relative_to(TEMPLATES).as_posix().removesuffix(SUFFIX).split("/")
    parts = [f".{part.removeprefix('dot-')}" if part.startswith("dot-") else part for part in parts]
    return "/".join(parts).replace("_package_", names.package).replace("_source_", names.name)


def template_text(path: str) -> str:
    """The text of a template.

    Args:
        path: the path of the file, below the folder of all templates, without its suffix.
    """
    return (TEMPLATES.parent / f"{path}{SUFFIX}").read_text("utf-8")


def mix_values(name: str, source: str, version: str, tokenizers: str) -> dict[str, str]:
    """The values that replace the marks in the template of a mix.

    Args:
        name: the name of the mix.
        source: name of the source of its stream.
        version: the dataset version.
        tokenizers: the tokenizers of the mix, as an expression of Python.
    """
    constant = name.replace("-", "_").upper()
    return {"@mix@": name, "@MIX@": constant, "@source@": source, "@version@": version, "@tokenizers@": tokenizers}


def tagger_values(name: str, number: int) -> dict[str, str]:
    """The values that replace the marks in the template of a tagger.

    Args:
        name: the name of the tagger, without its number.
        number: the number at the end of the name.
    """
    constant = name.replace("-", "_").upper()
    return {"@tagger@": f"{name}-{number}", "@next@": f"{name}-{number + 1}", "@TAGGER@": constant}


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """A template with a value in place of each mark.

    Args:
        text: the content of the template.
        values: values that replace the marks, by mark.
    """
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def write_project(folder: Path, files: Mapping[str, bytes], empty: Sequence[str] = ()) -> None:
    """Writes a project: all of its files, or nothing.

    Args:
        folder: folder that check_folder() accepted.
        files: content of each file by its path.
        empty: folders without files.

    Raises:
        RecipeError: the folder cannot be written.
    """
    there = folder.exists()
    draft = (folder if there else folder.parent) / f".{folder.name}.gristmill-init-{os.getpid()}"
    try:
        draft.mkdir()
        for path, data in files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        for path in empty:
            (draft / path).mkdir(parents=True)
        if there:  # it may be the current folder of a shell, so it is filled, not replaced
            _move_all(draft, folder)
        else:
            draft.rename(folder)
    except OSError as error:
        raise RecipeError(f"{folder} cannot be written: {error.strerror}; nothing was written") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move_all(draft: Path, folder: Path) -> None:
    """Moves the entries of one folder into another; if one cannot be moved, none is."""
    moved: list[Path] = []
    try:
        for entry in sorted(draft.iterdir()):
            target = folder / entry.name
            entry.rename(target)
            moved.append(target)
        draft.rmdir()
    except BaseException:
        for path in moved:
            path.rename(draft / path.name)
        raise
