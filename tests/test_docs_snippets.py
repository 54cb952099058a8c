"""The code that README and how-to pages show: it declares sound recipes, and runs on a lake that they make."""

import ast
import contextlib
import gzip
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.api import make, open_lake, read_catalogue
from gristmill.lake.rows.document import Document
from gristmill.plugins import forget_installed_plugins
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.packing.plans import plan_cache

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
TAGGERS = sorted((ROOT / "docs" / "reference" / "taggers").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (mycorpus/\S+\.py)\n")
ENTRY_POINT = re.compile(r"^```toml\n\[project\.entry-points\.\"([^\"]*)\"\]\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONFIG = re.compile(r"^```yaml\n(# (mycorpus/\S+\.yaml)\n.*?)^```", re.MULTILINE | re.DOTALL)
TALES = {
    "mill.txt": "Once upon a time there was a mill by a slow river.",
    "title.txt": "CHAPTER ONE",
    "dust.txt": "The END of it: NOTHING was left of the flour but dust.",
}
ELSEWHERE = {
    "look-at-scores.md": "tests/gristmill/reading/test_look_at_scores.py",
    "backfills.md": "tests/live/test_live_backfills.py",
    "read.md": "tests/gristmill/reading/test_how_to_read.py",
}
"""Pages whose snippets need another lake, or a running Dagster, and the test that runs them. Here they are imported."""


def in_bucket(block: str) -> bool:
    """Whether a file declares a source of raw data in a bucket, which is not there in tests."""
    return "s3://" in block and "DolmaMix" not in block


def snippets(page: Path) -> list[str]:
    """The Python blocks of a page that are not files of the package."""
    return [block for block in BLOCK.findall(page.read_text()) if not FILE.match(block)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The pages' package of recipes, as files, in a folder whose lake they have made. It is the current folder."""
    top = tmp_path_factory.mktemp("project")
    for block in (block for page in PAGES for block in BLOCK.findall(page.read_text())):
        if (found := FILE.match(block)) and not in_bucket(block):
            file = top / found[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            assert not file.exists(), f"two pages show {found[1]}"
            file.write_text(block)
    for block, name in (found for page in PAGES for found in CONFIG.findall(page.read_text())):
        (top / name).write_text(block)
    installed = top / "mycorpus-0.1.0.dist-info"  # as `pip install -e .` makes it
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mycorpus\nVersion: 0.1.0\n")
    points = [found for page in PAGES for found in ENTRY_POINT.findall(page.read_text())]
    (installed / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{lines}".replace('"', "") for group, lines in points)
    )
    for folder in (top / "mycorpus", *(top / "mycorpus").iterdir()):
        (folder / "__init__.py").touch()
    (top / "README.md").write_text("# A mill\n")
    (top / "pyproject.toml").write_text('[tool.gristmill]\nshelves = ["mycorpus"]\n')
    raw = top / "lake" / "sources"
    poems = {"a.txt": "The mill\nIt turns.\n", "b.txt": "The stone\nIt grinds.\n"}
    for source, files in (
        ("tales", TALES),
        ("helpdesk", {"a.jsonl": "".join(map(talk, range(8)))}),
        ("poems", poems),
    ):
        (raw / source / "raw" / "2024").mkdir(parents=True)
        for file_name, text in files.items():
            (raw / source / "raw" / "2024" / file_name).write_text(text)
    rude = ["you are a fool", "what a stupid liar", "shut up idiot", "nobody likes this clown", "get lost you coward"]
    calm = [
        "the garden is green",
        "we opened the library",
        "she wrote a letter",
        "the bread was warm",
        "thank you for the map",
    ]
    remarks = (f"{value},{text} {n}\n" for n in range(12) for value, texts in ((0, rude), (2, calm)) for text in texts)
    (top / "labeled_data.csv").write_text("class,tweet\n" + "".join(remarks))
    letters = raw / "letters" / "raw" / "2024"
    letters.mkdir(parents=True)
    with tarfile.open(letters / "box.tar.gz", "w:gz") as archive:
        archive.add(raw / "tales" / "raw" / "2024", "box")
    with pytest.MonkeyPatch.context() as patch:
        for module in [module for module in sys.modules if module.split(".")[0] == "mycorpus"]:
            patch.delitem(sys.modules, module)
        patch.syspath_prepend(str(top))
        patch.chdir(top)
        forget_installed_plugins()
        yield top
    forget_installed_plugins()


def talk(number: int) -> str:
    turns = [{"role": "user", "content": f"Is {number} flour?"}, {"role": "assistant", "content": "No, a number."}]
    return json.dumps({"id": f"talk-{number}", "messages": turns}) + "\n"


@pytest.fixture(scope="module")
def rows(project: Path) -> dict[str, int]:
    """The rows of each asset of the project's lake, which this makes."""
    lake = open_lake(str(project / "lake"))
    made: dict[str, int] = {}

    for target in (
        "tales",
        "letters",
        "poems",
        "helpdesk",
        "bedtime",
        "quiet",
        "talks",
        "polite",
        "once",
        "masked",
        "calm",
        "published",
    ):
        made.update((ledger.asset, ledger.totals["rows"]) for ledger in make(lake, target))
    catalogue = read_catalogue()
    packed = plan_cache(
        lake.store(), catalogue.mixes["talks"], catalogue.tokenizers["talks-bpe-1"], 128, lambda _: None
    )
    assert [plan.report.examples for plan in packed] == [2]
    return made


def test_the_pages_declare_sound_recipes(project: Path) -> None:
    assert project.exists()
    catalogue = read_catalogue()
    assert sorted(catalogue.sources) == ["forum", "helpdesk", "letters", "manual", "notes", "poems", "tales"]
    assert sorted(catalogue.taggers) == ["length-1", "pii-1", "shouting-1", "toxic-1"]
    assert sorted(catalogue.mixes) == ["bedtime", "calm", "masked", "once", "polite", "published", "quiet", "talks"]
    assert sorted(catalogue.transforms) == ["calmer-1", "whitespace-1"]
    assert sorted(catalogue.tokenizers) == ["bedtime-bpe-1", "brought-1", "talks-bpe-1"]
    assert [type(each[name]) for each, name in (
        (catalogue.sources, "tales"), (catalogue.taggers, "shouting-1"), (catalogue.mixes, "quiet"),
        (catalogue.tokenizers, "brought-1"),
    )] == [Source, Tagger, Mix, Tokenizer]  # fmt: skip


def test_the_pages_declare_sound_sources_of_raw_data_in_buckets() -> None:
    declared: dict[str, object] = {"__name__": "snippet"}
    for block in (block for page in PAGES for block in BLOCK.findall(page.read_text())):
        if FILE.match(block) and in_bucket(block):
            exec(compile(block, "a source in a bucket", "exec"), declared)
    assert sorted(each.name for each in declared.values() if isinstance(each, Source)) == ["common", "crawl"]


@pytest.mark.parametrize(
    "page", [page for page in TAGGERS if BLOCK.search(page.read_text())], ids=lambda page: page.stem
)
def test_what_the_pages_of_taggers_show_can_be_put_on_a_shelf(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"shown_{page.stem}"
    shelf = tmp_path / package / "taggers"
    shelf.mkdir(parents=True)
    blocks = BLOCK.findall(page.read_text())
    for block in blocks:
        exec(compile(block, page.name, "exec"), {"__name__": "snippet"})
    files = {found[1].rpartition("/")[2]: block for block in blocks if (found := FILE.match(block))}
    for name, block in files.items():
        (shelf / name).write_text(block)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert len(read_shelf("taggers", Tagger, (package,))) == len(files)


def test_the_tagger_says_of_three_documents_what_one_can_count(project: Path) -> None:
    assert (project / "mycorpus" / "taggers" / "shouting.py").exists()
    tagger = importlib.import_module("mycorpus.taggers.shouting").SHOUTING
    texts = ("Once upon", "CHAPTER ONE", "1 2 3")
    labels = tagger.look([Document(id=str(n), text=text, source="tales") for n, text in enumerate(texts)])
    assert labels["share"] == [1 / 8, 1.0, None]
    assert labels["words"] == [[], [(0, 7, 1.0), (8, 11, 1.0)], []]


def test_sources_mixes_and_tokenizers_of_the_pages_make_what_one_can_count(rows: dict[str, int]) -> None:
    assert rows["sources/tales/v0/documents"] == 3
    assert rows["sources/letters/v0/documents"] == 3
    assert rows["sources/poems/v0/documents"] == 2
    assert rows["sources/tales/v1/documents"] == 2  # the title is too short
    assert rows["mixes/bedtime/documents/tales"] == 2
    assert rows["mixes/quiet/documents/tales"] == 1  # the other shouts twice
    assert rows["mixes/masked/documents/tales"] == rows["mixes/calm/documents/tales"] == 2
    assert rows["mixes/published/documents/tales"] == 2
    assert rows["sources/tales/v1/attributes/toxic-1"] == rows["mixes/polite/documents/tales"] == 2
    assert rows["token_caches/bedtime/bedtime-bpe-1/tales"] == 2
    assert rows["token_caches/talks/talks-bpe-1/helpdesk"] == 8


@pytest.mark.usefixtures("rows")
def test_the_format_of_the_page_writes_lines_that_are_proven(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = project / "lake" / "exports" / "bedtime" / "tabbed" / "index"
    release = project / "lake" / json.loads((index / "release.json").read_text())["folder"]
    dust = "dust.txt\tThe END of it: NOTHING was left of the flour but dust.\n"
    mill = "mill.txt\tOnce upon a time there was a mill by a slow river.\n"
    assert gzip.decompress((release / "all.tsv.gz").read_bytes()).decode() == dust + mill
    assert (release / "rows.tsv").read_text() == "all.tsv.gz\t2\n"
    assert main(["verify", str(project / "lake"), "--asset", "exports/bedtime/tabbed"]) == 0
    capsys.readouterr()
    assert main(["plugins"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert f"{'exports':13}{'tabbed':22}mycorpus 0.1.0  mycorpus.formats.tabbed:TabbedCodec" in shown
    assert main(["make", "calm", "--engine", "waterwheel"]) == 0
    assert f"{'transforms':13}{'calmer-1':22}mycorpus 0.1.0  mycorpus.transforms.shouting:CALMER" in shown


@pytest.mark.usefixtures("rows")
def test_the_kind_of_the_page_makes_rows_that_are_proven(project: Path) -> None:
    """In a process of its own: what kinds a lake has is known when Gristmill is imported."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(project), str(ROOT)))}

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "gristmill", *words]
        return subprocess.run(command, env=environment, cwd=project, check=True, capture_output=True, text=True).stdout

    assert "made lengths/hundreds-1/tales (2024): 3 rows in 3 shards" in said("make", "lake", "hundreds-1")
    shard = project / "lake/lengths/hundreds-1/tales/2024/mill.txt.jsonl.gz"
    assert gzip.decompress(shard.read_bytes()) == b'{"from":0,"documents":1}\n'
    assert "1 of 1 ledgers proven, 0 findings" in said(
        "verify", "lake", "--asset", "lengths/hundreds-1", "--remix", "1"
    )


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page: Path) -> None:
    for block in snippets(page):
        tree = ast.parse(block)
        if page.name in ELSEWHERE:
            assert (ROOT / ELSEWHERE[page.name]).exists()
            tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _is_here(node)]
        exec(compile(tree, page.name, "exec"), {"__name__": "snippet"})


def _is_here(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether what a page imports is installed; pandas, polars and `datasets` need not be."""
    module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    return find_spec(str(module).partition(".")[0]) is not None


@pytest.mark.usefixtures("rows")
def test_what_a_conversation_teaches_is_shown_in_brackets() -> None:
    shown, counted = snippets(ROOT / "docs" / "how-to" / "chat-and-packing.md")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(shown, "what a trainer gets", "exec"), {"__name__": "snippet"})
        exec(compile(counted, "a packing plan", "exec"), {"__name__": "snippet"})
    assert "<|user|>Is 0 flour?<|assistant|>⟦No, a number.⟧" in out.getvalue()
    assert out.getvalue().endswith("2 examples\n")


@pytest.mark.usefixtures("rows")
def test_the_verifier_in_the_ledgers_page_proves_a_shard_and_finds_a_swapped_one(project: Path) -> None:
    page = (ROOT / "docs" / "reference" / "ledger.md").read_text()
    proof = project / "verify_shard.py"
    proof.write_text(next(block for block in BLOCK.findall(page) if "xxhash" in block))
    told = [sys.executable, str(proof), "lake", "sources/tales/v1", "2024", "mill.txt"]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    assert done.stdout == "sources/tales/v1 2024 mill.txt: 1 rows, proven\n"
    shard = project / "lake/sources/tales/v1/documents/2024/mill.txt.jsonl.gz"
    whole = shard.read_bytes()
    shard.write_bytes((shard.parent / "dust.txt.jsonl.gz").read_bytes())
    try:
        assert subprocess.run(told, capture_output=True, check=False).returncode != 0
    finally:
        shard.write_bytes(whole)
