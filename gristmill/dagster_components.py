"""What the command `dg` of Dagster writes into a project: a corpus, and sources, mixes and taggers on its shelves.

The entry point of the package names this module, and `dg` imports it at each command. So it changes no path, and loads
no recipes before they are asked for.
"""

import re
from abc import abstractmethod
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import BaseModel, Field

from gristmill.errors import RecipeError
from gristmill.project import FILE, Project, find_project
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.templates.new_recipe import check_place, mix_file, source_file, tagger_file

SHELVES = ("sources", "mixes", "taggers", "tokenizers")
"""The folders of a new corpus."""


class CorpusScaffolder(dg.Scaffolder):
    """Writes the component, and, in a project without recipes, empty shelves and the table that names them."""

    def scaffold(self, request: dg.ScaffoldRequest) -> None:
        root = request.project_root or Path.cwd()
        if find_project(root) is None:
            package = _package_of_folder(request.target_path, root)
            with (root / FILE).open("a") as file:
                file.write(f'\n[tool.gristmill]\nshelves = ["{package}"]\nlake = "lake"\n')
            for folder in (request.target_path, *(request.target_path / kind for kind in SHELVES)):
                folder.mkdir(exist_ok=True)
                (folder / "__init__.py").touch()
        dg.scaffold_component(request, {})


def _package_of_folder(folder: Path, root: Path) -> str:
    """The name of the package in a folder of a project."""
    parts = folder.relative_to(root).parts
    package = ".".join(parts[1:] if parts[0] == "src" else parts)
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", package):
        raise RecipeError(f"{folder} cannot be a package of Python; name it in letters, digits and '_'")
    return package


@dg.scaffold_with(CorpusScaffolder)
class Corpus(dg.Component):
    """All recipes of a project as assets, checks, jobs and sensors.

    The table [tool.gristmill] of pyproject.toml names the packages with recipes, and the lake.
    """

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:  # noqa: ARG002 - Dagster's contract
        """The definitions of the corpus, with all its recipes."""
        from gristmill.dagster_location import defs  # noqa: PLC0415 - it loads all recipes

        loaded: dg.Definitions = defs()
        return loaded


class RecipeScaffolder(dg.Scaffolder[Any]):
    """Writes the file of a recipe to a shelf."""

    kind = ""
    """The name of the shelf's folder."""

    @abstractmethod
    def text(self, stem: str, project: Project, params: Any) -> str:
        """The content of the file.

        Args:
            stem: name of the file, without `.py`.
            project: project whose shelf it is on.
            params: further options of the command.
        """

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        file = request.target_path
        for folder in (file, *file.parents):  # Dagster has made a folder of the file's name, and those above it
            try:
                folder.rmdir()
            except OSError:  # it holds something
                break
        project = check_place(file, self.kind, find_project(file.parent))
        text = self.text(file.stem, project, request.params)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


class SourceScaffolder(RecipeScaffolder):
    """Writes a source of plain text files."""

    kind = "sources"

    def text(self, stem: str, project: Project, params: Any) -> str:  # noqa: ARG002
        return source_file(stem)


class TaggerScaffolder(RecipeScaffolder):
    """Writes a tagger with two labels."""

    kind = "taggers"

    def text(self, stem: str, project: Project, params: Any) -> str:  # noqa: ARG002
        return tagger_file(stem)


class MixParameters(BaseModel):
    """What a mix is made of."""

    source: str = Field(description="Name of a source on the shelves")


class MixScaffolder(RecipeScaffolder):
    """Writes a mix of one source."""

    kind = "mixes"

    @classmethod
    def get_scaffold_params(cls) -> type[MixParameters]:
        """The class of the options that the scaffolder takes."""
        return MixParameters

    def text(self, stem: str, project: Project, params: MixParameters) -> str:
        return mix_file(stem, params.source, project)


dg.scaffold_with(SourceScaffolder)(Source)
dg.scaffold_with(MixScaffolder)(Mix)
dg.scaffold_with(TaggerScaffolder)(Tagger)
