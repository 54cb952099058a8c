"""A new recipe: one file for a shelf of a project, as `gristmill init` and the pages write it."""

import keyword
import re
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name
from gristmill.project import Project
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.templates.new_project import LONGEST, fill_template, mix_values, tagger_values, template_text


def check_place(file: Path, kind: str, project: Project | None) -> Project:
    """Checks that a recipe may be written to a file, and gives the project whose shelf it is on.

    Args:
        file: an absolute path.
        kind: name of the shelf's folder: `sources`, `mixes` or `taggers`.
        project: the project of the current folder, if there is one.

    Returns:
        The project.

    Raises:
        RecipeError: there is no project, the file is on none of its shelves, or no recipe can have its name.
    """
    if project is None:
        raise RecipeError(
            f"{file} is in no project: its pyproject.toml has no table [tool.gristmill], which names the packages with"
            " recipes. `dg scaffold defs gristmill.dagster_components.Corpus corpus` writes it"
        )
    tops = [Path(project.folder), Path(project.folder, "src")]
    shelves = [top.joinpath(*package.split("."), kind) for package in project.shelves for top in tops]
    if file.parent not in shelves:
        there = sorted(str(each) for each in shelves if each.parent.is_dir())
        raise RecipeError(
            f"{file} is on no shelf of the project {project.folder}: write it to"
            f" {' or '.join(there) or 'a package of its shelves'}"
        )
    if file.suffix != ".py" or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", file.stem):
        raise RecipeError(
            f"{file.name} is no name of a recipe's file: give lower-case letters and digits in words joined by '_', a"
            " letter first, and .py, such as my_corpus.py"
        )
    if len(file.stem) > LONGEST or keyword.iskeyword(file.stem):
        raise RecipeError(
            f"{file.stem!r} is a word of Python, or has more than {LONGEST} characters; take another name"
        )
    check_name(_name(file.stem), "recipe")
    return project


def source_file(stem: str) -> str:
    """A source of plain text files, as README has it.

    Args:
        stem: name of its file, without `.py`.
    """
    title = stem.replace("_", " ").capitalize()
    values = {"@Title@": title, "@name@": _name(stem), "@CONSTANT@": stem.upper()}
    return fill_template(template_text("recipe/source.py"), values)


def mix_file(stem: str, source: str, project: Project) -> str:
    """A mix of the newest version of one source, for all tokenizers there are.

    Args:
        stem: name of its file, without `.py`.
        source: name of the source.
        project: its shelves hold the source.

    Raises:
        RecipeError: no shelf has this source; the message lists the names. Or a module of the shelf is wrong.
    """
    project.put_on_path()
    version = find_recipe("sources", Source, project.shelves, source).current
    return fill_template(
        template_text("project/_package_/mixes/base.py"), mix_values(_name(stem), source, version, '"all"')
    )


def tagger_file(stem: str) -> str:
    """A tagger of one document at a time, with two labels. Its name ends in a number: that of the file, or 1.

    Args:
        stem: name of its file, without `.py`.
    """
    base, _, number = stem.rpartition("_")
    name, count = (base, int(number)) if base and number.isdigit() else (stem, 1)
    return fill_template(template_text("project/_package_/taggers/prose.py"), tagger_values(_name(name), count))


def _name(stem: str) -> str:
    return stem.replace("_", "-")
