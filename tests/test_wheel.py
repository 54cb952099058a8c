"""The wheel in an environment of its own, in a folder that is no checkout: what it brought is all that there is."""

import json
import subprocess
from pathlib import Path

import pytest
from wheel import installed_wheel, python_of, run, without_extras

pytestmark = pytest.mark.slow

SHELF = """
from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Source


def convert(raw: RawObject) -> Iterator[Document]:
    yield Document(id=raw.name, text=raw.read().decode(), source="poems")


POEMS = Source(name="poems", convert=convert, licence="CC0-1.0")
"""


def project(folder: Path) -> Path:
    """A project with one source of three texts."""
    shelf = folder / "ourpoems" / "sources"
    shelf.mkdir(parents=True)
    for package in (shelf, shelf.parent):
        (package / "__init__.py").touch()
    (shelf / "poems.py").write_text(SHELF)
    (folder / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["ourpoems"]\n')
    raw = folder / "lake" / "sources" / "poems" / "raw" / "2024"
    raw.mkdir(parents=True)
    for number in range(3):
        (raw / f"{number}.txt").write_text(f"Poem {number}.\n")
    return folder


@pytest.mark.parametrize(
    "version",
    ["3.11", *(pytest.param(other, marks=pytest.mark.exhaustive) for other in ("3.12", "3.13"))],
)
def test_the_wheel_alone_makes_a_source_and_shows_it_in_dagster(version: str, tmp_path: Path) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    inside = installed_wheel(tmp_path, python)
    here = project(tmp_path / "corpus")
    gristmill = inside.with_name("gristmill")
    assert "gristmill 0." in run(inside, "-m", "pip", "list", "--format=freeze", cwd=here).replace("==", " ")
    run(gristmill, "make", "-", "poems", cwd=here)
    said = run(gristmill, "verify", cwd=here)
    assert "sources/poems/v0/ledgers/documents/2024.json" in said
    note = next((here / "lake").rglob("2024.run.json")).read_text()
    assert '"gristmill 0.' in note
    told = run(inside, "-c", "from gristmill.dagster_location import defs; print(len(defs().jobs))", cwd=here)
    assert int(told) >= 2
    entries = "from importlib.metadata import entry_points as e; print(*e(group='dagster_dg_cli.registry_modules'))"
    assert "value='gristmill.dagster_components'" in run(inside, "-c", entries, cwd=here)
    assert not list((tmp_path / "env").rglob("lake.json"))
    outside = subprocess.run([gristmill, "plan"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (outside.returncode, outside.stderr.split(":")[0]) == (2, "no recipes are named")


FILES = {
    "sources/poems.py": """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source

POEMS = Source(name="poems", convert=JsonLines(source="poems"), select=r"\\.jsonl$", licence="CC0-1.0")
""",
    "sources/pages.py": """
from gristmill.readers.files.html_files import HtmlFiles
from gristmill.recipes.source import Source

PAGES = Source(name="pages", convert=HtmlFiles(source="pages"), select=r"\\.html$", licence="CC0-1.0")
""",
    "sources/wiki.py": """
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.source import Source

WIKI = Source(name="wiki", convert=MediaWikiPages(source="wiki"), select=r"\\.xml$", licence="CC0-1.0")
""",
    "mixes/all.py": """
from gristmill.recipes.mix import Mix, Stream

ALL = Mix(name="all", streams=(Stream(source="poems", version="v0"),), tokenizers=("tiny-1",))
""",
    "tokenizers/tiny.py": """
from gristmill.recipes.tokenizer import Tokenizer, Training

TINY = Tokenizer(name="tiny-1", training=Training(mix="all", snapshots={"poems": ("2024",)}, vocabulary=300))
""",
}
IMPORTS = """
import importlib, pkgutil, gristmill
from gristmill.errors import RecipeError
for found in pkgutil.walk_packages(gristmill.__path__, "gristmill."):
    if found.name.startswith("gristmill.location") or found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except (RecipeError, ModuleNotFoundError) as error:
        print(found.name, error)
"""
HTML = "it needs the package resiliparse, which is not installed: `pip install 'gristmill[web]'`"
WIKI = "it needs the package mwparserfromhell, which is not installed: `pip install 'gristmill[wiki]'`"


def test_the_core_alone_goes_from_json_lines_to_tokens_and_tells_what_needs_an_extra(tmp_path: Path) -> None:
    inside = installed_wheel(tmp_path, python_of("3.11") or "python3")
    removed = without_extras(inside)
    assert {"resiliparse", "boto3", "dagster-webserver", "av", "lxml", "onnxruntime"} <= {*removed}
    gristmill = inside.with_name("gristmill")
    run(inside, "-m", "pip", "check", cwd=tmp_path)
    failed = dict(line.split(" ", 1) for line in run(inside, "-c", IMPORTS, cwd=tmp_path).splitlines())
    assert failed == {
        "gristmill.lake.store.s3": "No module named 'obstore'",
        "gristmill.lake.store.s3_multipart": "No module named 'boto3'",
        "gristmill.readers.wiki.wikitext": WIKI,
    }
    here = tmp_path / "corpus"
    for name, text in FILES.items():
        file = here / "ourpoems" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name("__init__.py").touch()
        file.write_text(text)
    (here / "ourpoems" / "__init__.py").touch()
    (here / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["gristmill", "ourpoems"]\n')
    rows = [{"id": str(number), "text": f"Poem {number} of the mill.\n" * 20} for number in range(40)]
    raw = {
        "poems": ("a.jsonl", "\n".join(map(json.dumps, rows))),
        "pages": ("a.html", "<!doctype html><html><body><p>Rye</body></html>"),
        "wiki": ("a.xml", "<"),
    }
    for source, (name, text) in raw.items():
        folder = here / "lake" / "sources" / source / "raw" / "2024"
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
    for command in ("--help", "plugins"):
        run(gristmill, command, cwd=here)
    made = subprocess.run([gristmill, "make"], cwd=here, capture_output=True, text=True, check=False)
    told = (made.stdout + made.stderr).splitlines()
    assert made.returncode == 1, made.stderr
    refused = {f"refused sources/pages/v0/documents: {HTML}", f"refused sources/wiki/v0/documents: {WIKI}"}
    assert refused <= {*told}
    assert max(map(told.index, refused)) < next(n for n, line in enumerate(told) if "never made" in line)
    assert (here / "lake/token_caches/all/tiny-1/index/ledger.json").exists()
    assert (here / "lake/sources/poems/v0/ledgers/attributes/gopher-1/2024.json").exists()
    peeked = run(gristmill, "peek", here / "lake/sources/pages/raw/2024/a.html", cwd=here)
    assert f"the draft does not read it: {HTML}" in peeked
    script = "from gristmill.dagster_location import defs; print(len(defs().jobs))"
    loaded = subprocess.run([inside, "-c", script], cwd=here, capture_output=True, text=True, check=False)
    assert f"sources/pages/v0/documents cannot be made: {HTML}" in loaded.stderr.splitlines(), loaded.stderr
    assert int(loaded.stdout) >= 2
