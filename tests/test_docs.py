"""What the documents say is there, is there; what they show as code, runs."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from dagster import DagsterInstance
from dagster._core.instance.config import dagster_instance_config
from testkit import Mill, make_documents

from gristmill.__main__ import parser
from gristmill.api import make, make_tokenizer, open_lake
from gristmill.lake.ledger.files import dump
from gristmill.lake.ledger.index_ledger import compose_index
from gristmill.lake.rows.blocklist import read_blocklist
from gristmill.lake.rows.document import Document
from gristmill.recipes.mix import Stream
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger
from gristmill.recipes.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
ROOMS = (".", "docs", "gristmill", "bench", "tests")
PAGES = sorted(
    page
    for room in ROOMS
    for page in (ROOT / room).glob("*.md" if room == "." else "**/*.md")
    if not any(part.startswith(".") for part in page.relative_to(ROOT).parts)
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
SHELVES = ("sources", "taggers", "mixes", "tokenizers", "exports", "lake", "stages")
TALES = {
    "mill.txt": "Once upon a time there was a mill by a slow river.",
    "title.txt": "CHAPTER ONE",
    "dust.txt": "The END of it: NOTHING was left of the flour but dust.",
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(text: str, language: str = "python") -> list[str]:
    return [block for kind, block in FENCE.findall(text) if kind == language]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_into_the_repository_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)}: {link}: there is no such file"
        if anchor:
            assert anchor in anchors(target), f"{name(page)}: {link}: there is no such heading"


def test_every_make_target_that_the_documents_name_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        code = re.findall(r"`make ([a-z-]+)", page.read_text()) + re.findall(
            r"^\$ make ([a-z-]+)", page.read_text(), re.MULTILINE
        )
        assert set(code) <= targets, f"{name(page)} names {sorted(set(code) - targets)}"


def test_every_subcommand_stands_in_the_readme() -> None:
    choices = next(action.choices for action in parser()._actions if action.choices)  # noqa: SLF001 - argparse has no other way to ask
    assert set(choices) >= {"verify", "sample", "acquire", "gc"}
    for subcommand in choices:
        assert f"python -m gristmill {subcommand} " in README


def test_every_environment_variable_that_is_read_stands_in_the_readme() -> None:
    tree = ast.parse((ROOT / "gristmill" / "environment.py").read_text())
    read = {
        str(node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and isinstance(node.args[0], ast.Constant)
    }
    assert "GRISTMILL_LAKE" in read
    table = README.partition("## Environment variables")[2].partition("\n## ")[0]
    assert {variable for variable in read if f"`{variable}`" not in table} == set()


@pytest.mark.parametrize("shelf", SHELVES)
def test_every_shelf_has_a_short_readme(shelf: str) -> None:
    lines = (ROOT / "gristmill" / shelf / "README.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("- ")]) == 5


def test_every_page_of_the_docs_is_listed_in_the_readme() -> None:
    assert {p.name for p in (ROOT / "docs").glob("*.md") if f"docs/{p.name}" not in README} == set()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text())], ids=name)
def test_the_snippets_of_a_page_are_python_and_name_only_what_the_page_defines(page: Path) -> None:
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--select", "F821", "-"]
    told = subprocess.run(ruff, input="\n".join(blocks(page.read_text())), capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout


PUBLIC = re.compile(r"gristmill\.(recipes|readers|text)\.\w+|gristmill\.(errors|api|lake\.rows\.(document|raw_spans))")
OURS = {"gristmill", "resources", "assets", "sensors", "definitions"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_documents_import_the_public_face_alone(page: Path) -> None:
    for block in blocks(page.read_text()):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & OURS
            elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
                assert PUBLIC.fullmatch(node.module), f"{name(page)}: users must not import {node.module}"
                known = vars(importlib.import_module(node.module))
                assert {alias.name for alias in node.names} <= set(known), f"{name(page)}: {node.module}"


def test_every_function_of_the_library_has_its_arguments_and_errors_described() -> None:
    functions = [n for n in ast.parse((ROOT / "gristmill/api.py").read_text()).body if isinstance(n, ast.FunctionDef)]
    public = {node.name: node for node in functions if not node.name.startswith("_")}
    assert {"open_lake", "make", "plan", "verify", "trace", "open_split", "write_cache"} <= set(public)
    for node in public.values():
        words = ast.get_docstring(node) or ""
        assert all(f"{each.arg}: " in words for each in node.args.args + node.args.kwonlyargs) or "Args" not in words
        assert len(node.args.args) < 3 or "Args:" in words, node.name


@pytest.mark.parametrize(
    ("page", "declared"),
    [
        ("docs/shelves.md", [Source, Tagger, Tokenizer]),
        ("docs/recipes.md", [Stream, Stream, Stream, Revision]),
    ],
)
def test_every_declaration_that_the_documents_show_is_a_sound_recipe(page: str, declared: list[type]) -> None:
    found: list[type] = []
    for number, block in enumerate(blocks((ROOT / page).read_text())):
        names: dict[str, object] = {"__name__": "snippet"}
        exec(compile(block, f"{page}, snippet {number}", "exec"), names)
        found += [type(value) for value in names.values() if isinstance(value, tuple(declared))]
    assert found == declared


def written(mill: Mill) -> list[dict[str, object]]:
    """One of everything that a lake holds as JSON: document, attribute row, refused and blocked row, ledgers, shard."""
    mill.raw("a.jsonl.gz", [{**make_documents(1)[0], "source": "pages"}, b"no document"])
    ledger = mill.convert()
    mill.tag("words-1")
    where = mill.documents()
    blocked = msgspec.json.encode({"source": "pages", "id": "doc-00000", "reason": "asked for"})
    mill.store.put("blocklists/takedowns.jsonl", blocked + b"\n")
    assert ("pages", "doc-00000") in read_blocklist(mill.store, "takedowns")
    rows = [mill.rows(where.shard("a")), mill.rows(mill.attributes("words-1").shard("a"))]
    rows += [mill.rows(where.quarantine("a")), [json.loads(blocked)], mill.rows(where.table)]
    return [row for shard in rows for row in shard] + [
        json.loads(dump(each)) for each in (ledger, compose_index("mixes/blend/index", (), {}))
    ]


def test_every_json_example_has_the_keys_of_what_is_written(mill: Mill) -> None:
    examples = [json.loads(block) for page in PAGES for block in blocks(page.read_text(), "json")]
    assert len(examples) == 7
    real = written(mill)
    optional = {"added", "created", "metadata", "dropped", "counts", "quarantine"}
    for example in examples:
        keys = set(example) - optional
        assert any(keys == set(row) - optional for row in real), f"nothing that is written has the keys {sorted(keys)}"


@pytest.fixture
def ourmill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The README's package of recipes, as files, beside a lake with three tales."""
    for block in blocks(README):
        if found := re.match(r"# (ourmill/\S+\.py)\n", block):
            file = tmp_path / found[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block)
    for folder in (tmp_path / "ourmill", *(tmp_path / "ourmill").iterdir()):
        (folder / "__init__.py").touch()
    raw = tmp_path / "tales-lake" / "sources" / "tales" / "raw" / "2024"
    raw.mkdir(parents=True)
    for file_name, text in TALES.items():
        (raw / file_name).write_text(text)
    for module in [m for m in sys.modules if m.split(".")[0] == "ourmill"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_readmes_tagger_says_of_three_documents_what_one_can_count(ourmill: Path) -> None:
    assert (ourmill / "ourmill" / "taggers" / "shouting.py").exists()
    tagger = importlib.import_module("ourmill.taggers.shouting").SHOUTING
    texts = ("Once upon", "CHAPTER ONE", "1 2 3")
    labels = tagger.look([Document(id=str(n), text=text, source="tales") for n, text in enumerate(texts)])
    assert labels["share"] == [1 / 8, 1.0, None]
    assert labels["words"] == [[], [(0, 7, 1.0), (8, 11, 1.0)], []]


def test_the_readmes_plain_python_makes_the_tales(ourmill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = next(block for block in blocks(README) if "from gristmill.api import" in block)
    exec(compile(plain, "README.md, in plain Python", "exec"), {"__name__": "snippet"})
    said = capsys.readouterr().out
    assert "sources/tales/v0/documents 3 {}" in said
    assert "sources/tales/v1/documents 2 {'shouted': 1}" in said
    assert (ourmill / "tales-lake/sources/tales/v1/ledgers/attributes/shouting-1/2024.json").exists()


def test_the_readmes_mixes_and_tokenizer_work(ourmill: Path) -> None:
    shelves = ("gristmill", "ourmill")
    lake = open_lake(str(ourmill / "tales-lake"))
    rows: dict[str, int] = {}

    def run(*names: str) -> None:
        for name in names:
            rows.update((ledger.asset, ledger.totals["rows"]) for ledger in make(lake, name, shelves=shelves))

    run("tales", "bedtime", "quiet")
    assert "token_caches/bedtime/bedtime-bpe-1/tales" not in rows
    make_tokenizer(lake, "bedtime-bpe-1", shelves=shelves)
    run("bedtime")
    assert rows["mixes/bedtime/documents/tales"] == 2
    assert rows["mixes/quiet/documents/tales"] == 1
    assert rows["token_caches/bedtime/bedtime-bpe-1/tales"] == 2

    proof = ourmill / "verify_shard.py"
    proof.write_text(next(block for block in blocks((ROOT / "docs/ledger.md").read_text()) if "xxhash" in block))
    told = [sys.executable, str(proof), "tales-lake", "sources/tales/v1", "2024", "mill.txt"]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    assert done.stdout == "sources/tales/v1 2024 mill.txt: 1 rows, proven\n"
    shard = ourmill / "tales-lake/sources/tales/v1/documents/2024/mill.txt.jsonl.gz"
    shard.write_bytes((shard.parent / "dust.txt.jsonl.gz").read_bytes())
    assert subprocess.run(told, capture_output=True, check=False).returncode != 0


def test_the_production_example_is_settings_that_dagster_takes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "production" / "dagster.yaml").read_text()
    (tmp_path / "dagster.yaml").write_text(text)
    settings, _ = dagster_instance_config(str(tmp_path))
    assert "postgres" in settings["storage"]
    sqlite = f"storage:\n  sqlite:\n    base_dir: {json.dumps(str(tmp_path))}\n"  # no Postgres on this machine
    (tmp_path / "dagster.yaml").write_text(re.sub(r"^storage:\n(?:  .*\n)+", sqlite, text, flags=re.MULTILINE))
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not instance.telemetry_enabled
        assert instance.get_settings("run_retries")["retry_on_asset_or_op_failure"] is False
        limits = instance.get_concurrency_config()
        assert limits.run_queue_config is not None
        assert limits.run_queue_config.max_concurrent_runs == 8
        assert limits.pool_config.default_pool_limit == 4


def test_the_pools_that_the_documents_name_are_those_of_the_assets() -> None:
    pools = {
        pool for path in (ROOT / "assets").glob("*.py") for pool in re.findall(r'pool="([a-z]+)"', path.read_text())
    }
    assert pools == {"convert", "tag", "mix", "tokenize", "train", "audit"}
    for page in ("docs/dagster.md", "docs/production/dagster.yaml"):
        text = (ROOT / page).read_text()
        assert {pool for pool in pools if pool not in text} == set()
