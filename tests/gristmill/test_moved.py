"""Modules that moved: their former names give the same objects, with a warning, and the same digests of code."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gristmill.moved import FORMER, former_name
from gristmill.recipes.code.effects import is_public

ROOT = Path(__file__).resolve().parents[2]
NAMES = {
    "gristmill.dolma.recipes.dolma_mix": ("DolmaMix",),
    "gristmill.energon.readers.json_lines": ("EnergonLines",),
    "gristmill.energon.readers.webdataset": ("WebdatasetSamples", "SHARDS"),
    "gristmill.energon.recipes.exports": ("EnergonJsonl", "EnergonWebdataset"),
    "gristmill.energon.recipes.watched_folder": ("WatchedFolder",),
}
"""The names that the pages of version 0.2 show, by the module that has them now."""


@pytest.mark.parametrize("module", NAMES)
def test_a_former_name_gives_the_same_object_and_warns(module: str) -> None:
    former = former_name(module)
    assert (former != module, is_public(module), is_public(former)) == (True, True, True)
    for name in NAMES[module]:
        with pytest.warns(DeprecationWarning, match=f"{former} goes with version 0.5; import {name} from {module}"):
            found = getattr(import_module(former), name)
        assert found is getattr(import_module(module), name)
    with pytest.raises(AttributeError, match="Absent"):
        _ = import_module(former).Absent


def test_each_module_that_stands_at_a_former_place_holds_nothing_else() -> None:
    places = [ROOT / old.replace(".", "/") for old in FORMER.values()]
    stubs = [path for place in places for path in (*place.glob("[!_]*.py"), place.with_suffix(".py")) if path.exists()]
    assert len(stubs) == len(NAMES)
    for path in stubs:
        *imports, bound = ast.parse(path.read_text()).body[1:]
        assert (len(imports), ast.unparse(bound)) == (2, "__getattr__ = partial(moved_name, __name__)"), path


TAGGER = """from gristmill.recipes.tagger import Tagger
from {module} import {name}


def tag(document):
    return {{"words": float(isinstance({name}, type))}}


TAGGER = Tagger(name="words-1", document=tag, description="words")
"""
DIGEST = """from gristmill.recipes.code.digest import code_of
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.tagger import Tagger

print(code_of(read_shelf("taggers", Tagger, ("mill",))["words-1"]).digest)
"""


@pytest.mark.parametrize("module", NAMES)
def test_the_code_of_a_recipe_is_the_same_with_the_former_name_and_with_the_present_one(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "mill/taggers").mkdir(parents=True)
    digests = []
    for place, name in ((module, NAMES[module][0]), (former_name(module), NAMES[module][0]), ("mill.own", "Own")):
        (tmp_path / "mill/taggers/words.py").write_text(TAGGER.format(module=place, name=name))
        (tmp_path / "mill/own.py").write_text("Own = int\n")
        done = subprocess.run([sys.executable, "-B", "-c", DIGEST], cwd=tmp_path, check=True, capture_output=True)
        digests.append(done.stdout)
    assert digests[0] == digests[1] != digests[2]
