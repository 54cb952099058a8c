import re
from pathlib import Path
from zlib import crc32

import dagster as dg
import pytest
from paths import ROOT

from gristmill import dagster_components
from gristmill.dagster_components import Corpus, MixParameters, MixScaffolder, SourceScaffolder, TaggerScaffolder
from gristmill.errors import RecipeError
from gristmill.recipes.catalogue import read_catalogue
from gristmill.templates.new_project import Names, project_files

Params = MixParameters | None


def scaffold(name: str, file: Path, params: Params = None) -> str:
    """What `dg scaffold defs` does after it has read its arguments; gives the content of the file."""
    target = getattr(dagster_components, name)
    file.mkdir(parents=True)
    root = next(folder for folder in file.parents if (folder / "pyproject.toml").is_file())
    request = dg.ScaffoldRequest(
        f"{dagster_components.__name__}.{name}", file, "yaml", root, params or MixParameters(source="")
    )
    target.__scaffolder_cls__().scaffold(request)
    return file.read_text() if file.is_file() else ""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The package `defs` of a project of Dagster's, whose name no other test has."""
    name = f"plain_{crc32(request.node.name.encode())}"
    folder = tmp_path / "src" / name / "defs"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        (each / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(f'[tool.dg.project]\nroot_module = "{name}"\n')
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_corpus_and_recipes_are_written_into_a_project_of_dagsters_and_load(package: Path) -> None:
    scaffold("Corpus", package / "corpus")
    named = f"{package.parent.name}.defs.corpus"
    assert f'shelves = ["{named}"]' in Path("pyproject.toml").read_text()
    assert (package / "corpus" / "defs.yaml").read_text().startswith("type: gristmill.dagster_components.Corpus\n")
    scaffold("Source", package / "corpus" / "sources" / "old_tales.py")
    scaffold("Tagger", package / "corpus" / "taggers" / "prose_2.py")
    scaffold("Mix", package / "corpus" / "mixes" / "bedtime.py", MixParameters(source="old-tales"))
    catalogue = read_catalogue((named,))
    assert (list(catalogue.sources), list(catalogue.taggers)) == (["old-tales"], ["prose-2"])
    (stream,) = catalogue.mixes["bedtime"].streams
    assert (stream.source, stream.version) == ("old-tales", "v1")


def test_files_are_those_of_the_readme_and_of_a_new_project(package: Path) -> None:
    scaffold("Corpus", package / "corpus")
    shown = re.search(r"```python\n# mycorpus/sources/tales.py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown
    assert scaffold("Source", package / "corpus" / "sources" / "tales.py") == shown[1]
    new = project_files(Names("tales", "tales"), ("tales",), 1)
    assert scaffold("Tagger", package / "corpus" / "taggers" / "prose.py").encode() == new["tales/taggers/prose.py"]
    written = scaffold("Mix", package / "corpus" / "mixes" / "base.py", MixParameters(source="tales"))
    assert written.replace('"all"', '("tales-bpe-1",)').encode() == new["tales/mixes/base.py"]


def test_a_corpus_leaves_the_table_of_a_project_alone(package: Path) -> None:
    Path("pyproject.toml").write_text('[tool.gristmill]\nshelves = ["others"]\n')
    scaffold("Corpus", package / "corpus")
    assert Path("pyproject.toml").read_text() == '[tool.gristmill]\nshelves = ["others"]\n'
    assert [each.name for each in (package / "corpus").iterdir()] == ["defs.yaml"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("corpus/mixes/tales.py", "is on no shelf of the project"),
        ("corpus/tales.py", "is on no shelf of the project"),
        ("corpus/sources/Tales.py", "is no name of a recipe's file"),
        ("corpus/sources/tales", "is no name of a recipe's file"),
        ("corpus/sources/class.py", "is a word of Python"),
        (f"corpus/sources/{'a' * 41}.py", "has more than 40 characters"),
        ("corpus/sources/raw.py", "a name is lower-case letters"),
    ],
)
def test_a_file_that_would_not_load_is_refused_and_leaves_nothing(package: Path, path: str, said: str) -> None:
    scaffold("Corpus", package / "corpus")
    before = sorted(package.rglob("*"))
    with pytest.raises(RecipeError, match=said):
        scaffold("Source", package / path)
    assert sorted(package.rglob("*")) == before


def test_without_a_corpus_nothing_is_written_and_the_error_says_how_to_get_one(package: Path) -> None:
    with pytest.raises(RecipeError, match=r"dg scaffold defs gristmill.dagster_components.Corpus corpus"):
        scaffold("Source", package / "corpus" / "sources" / "tales.py")
    assert [each.name for each in package.iterdir()] == ["__init__.py"]


def test_a_mix_of_an_unknown_source_is_refused_with_the_near_names(package: Path) -> None:
    scaffold("Corpus", package / "corpus")
    scaffold("Source", package / "corpus" / "sources" / "tales.py")
    with pytest.raises(RecipeError, match="did you mean 'tales'"):
        scaffold("Mix", package / "corpus" / "mixes" / "base.py", MixParameters(source="talse"))
    assert not (package / "corpus" / "mixes" / "base.py").exists()


def test_a_folder_that_is_no_package_holds_no_corpus(package: Path) -> None:
    with pytest.raises(RecipeError, match="cannot be a package of Python"):
        scaffold("Corpus", package / "my-corpus")
    assert "gristmill" not in Path("pyproject.toml").read_text()


def test_what_the_entry_point_names_is_what_dg_finds() -> None:
    from dagster.components.core.package_entry import get_package_objects_in_module

    found = dict(get_package_objects_in_module(dagster_components))
    assert {"Corpus", "Source", "Mix", "Tagger"} <= found.keys()
    assert found["Corpus"] is Corpus
    for scaffolder in (SourceScaffolder, MixScaffolder, TaggerScaffolder):
        assert scaffolder.kind
