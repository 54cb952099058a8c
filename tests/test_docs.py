"""What the documents say is there, is there; what they show as code, runs."""

import ast
import importlib
import itertools
import json
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from dagster import DagsterInstance
from dagster._core.instance.config import dagster_instance_config
from testkit import Mill, make_documents

from gristmill.command_line import command_parser
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.recipes.mix import Stream
from gristmill.recipes.source import Revision
from resources.pools import POOLS
from sensors.alert_messages import Alert, message_of

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
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
SHELVES = (
    "sources",
    "taggers",
    "mixes",
    "tokenizers",
    "labels",
    "models",
    "exports",
    "watched_folders",
    "transforms",
    "lake",
    "stages",
)


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


def section(page: str, heading: str) -> str:
    """The text below a heading of the second level."""
    found = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, f"{page} has no heading {heading!r}"
    return found[1]


def subcommands() -> dict[str, ArgumentParser]:
    choices = next(action.choices for action in command_parser()._actions if action.choices)  # noqa: SLF001 - argparse has no other way to ask
    assert set(choices) >= {"verify", "sample", "acquire", "gc"}
    return dict(choices)


def options_of(its: ArgumentParser) -> set[str]:
    """The long options of a parser, and of the parsers of its own subcommands."""
    actions = its._actions  # noqa: SLF001 - as above
    below = [one for action in actions if isinstance(action.choices, dict) for one in action.choices.values()]
    own = {option for action in actions for option in action.option_strings if option.startswith("--")}
    return own.union(*map(options_of, below))


COMMON_OPTIONS = {"--help", "--option", "--shelves"}


def test_every_subcommand_and_option_stands_in_the_page_of_the_command_line() -> None:
    page = "docs/reference/command-line.md"
    common = (ROOT / page).read_text().partition("\n## ")[0]
    assert all(f"`{option} " in common for option in COMMON_OPTIONS - {"--help"})
    assert {told for told, link in re.findall(r"\[`([a-z]+)`\]\(#([a-z]+)\)", common) if told == link} == set(
        subcommands()
    )
    for subcommand, its in subcommands().items():
        options = options_of(its)
        told = set(re.findall(r"--[a-z](?:[a-z0-9_.-]*[a-z])?", section(page, subcommand)))
        assert options - COMMON_OPTIONS <= told, f"{page}: {subcommand}: {sorted(options - COMMON_OPTIONS - told)}"
        assert told <= options, f"{page}: {subcommand} has no {sorted(told - options)}"


def commands_shown() -> Iterator[tuple[str, list[str]]]:
    """Each `gristmill ...` that the pages show as typed into a terminal, with its page."""
    for page in PAGES:
        for block in blocks(page.read_text(), "console"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True) if line.startswith("$ ") else []
                words = words[2:] if words[1:3] == ["-m", "gristmill"] else words
                words = list(itertools.takewhile(lambda word: word not in {"&&", "|", ">"}, words))
                if words and words[0] == "gristmill":
                    yield name(page), words[1:]


def test_every_command_that_the_documents_show_is_one_that_the_command_line_takes() -> None:
    shown = [(page, words) for page, words in commands_shown() if words[0] in subcommands()]
    assert len(shown) > 15
    for page, words in shown:
        try:
            command_parser(words[0]).parse_args(words)
        except SystemExit:
            pytest.fail(f"{page}: gristmill {' '.join(words)}")


def test_every_environment_variable_that_is_read_stands_in_the_configuration_and_no_other() -> None:
    tree = ast.parse((ROOT / "gristmill" / "environment.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    read = {text for text in texts if re.fullmatch(r"(GRISTMILL|AWS|DAGSTER)_[A-Z0-9_]+", text)}
    assert {"GRISTMILL_LAKE", "AWS_ENDPOINT_URL"} <= read
    table = section("docs/reference/configuration.md", "Environment variables").partition("Others, by who")[0]
    cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([A-Z0-9_]+)`", cells)) == read


@pytest.mark.parametrize("shelf", SHELVES)
def test_every_shelf_has_a_short_readme(shelf: str) -> None:
    lines = (ROOT / "gristmill" / shelf / "README.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("- ")]) == 5


def test_every_page_of_the_docs_is_linked_from_their_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = _linked_from(index)
    linked |= {page for folder in linked if folder.name == "README.md" for page in _linked_from(folder)}
    assert {name(page) for page in (ROOT / "docs").rglob("*.md") if page != index and page not in linked} == set()


def _linked_from(page: Path) -> set[Path]:
    return {(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(page.read_text())}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text())], ids=name)
def test_the_snippets_of_a_page_are_python_and_name_only_what_the_page_defines(page: Path) -> None:
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--select", "F821", "-"]
    told = subprocess.run(ruff, input="\n".join(blocks(page.read_text())), capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout


PUBLIC = re.compile(
    r"gristmill\.(recipes|dolma\.recipes|energon\.(recipes|readers)|readers|text|taggers|transforms)(\.\w+)+"
    r"|gristmill\.(errors|api|lake\.rows\.(document|raw_spans))"
    # what docs/reference/compatibility.md calls provisional
    r"|gristmill\.(engines\.kinds|execution\.(work|remote|checks|added_checks)|stages\.packaged\.kind)"
    r"|gristmill\.lake\.(address|asset_kinds|ledger\.model|store\.protocol)"
)
OURS = {"gristmill", "resources", "assets", "sensors", "definitions"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_documents_import_the_public_face_alone(page: Path) -> None:
    for block in blocks(page.read_text()):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Import):
                named = {alias.name for alias in node.names} - {"gristmill"}  # gristmill.open_lake
                assert not {module.split(".")[0] for module in named} & OURS
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


def test_the_architecture_shows_a_whole_step_as_it_is() -> None:
    step = (ROOT / "gristmill/stages/fingerprints/step.py").read_text()
    assert len(step.splitlines()) < 60
    (shown,) = blocks((ROOT / "docs/internals/architecture.md").read_text(), "py")
    assert shown == step


def test_the_worked_examples_of_selections_are_sound() -> None:
    page, declared = "docs/reference/selections.md", [Stream, Stream, Stream, Revision]
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
    rows += [mill.rows(where.quarantine_path("a")), [json.loads(blocked)], mill.rows(where.table)]
    alert = Alert(event="run_failure", run="1", job="mine", assets=(), snapshot="", check="", error="no", next="mend")
    return [message_of(alert, "", 0, "s3://bucket/lake"), *(row for shard in rows for row in shard)] + [
        json.loads(as_json(each)) for each in (ledger, compose_index("mixes/blend/index", (), {}))
    ]


def test_every_json_example_has_the_keys_of_what_is_written(mill: Mill) -> None:
    examples = [json.loads(block) for page in PAGES for block in blocks(page.read_text(), "json")]
    assert len(examples) == 8
    real = written(mill)
    optional = {"added", "created", "metadata", "dropped", "counts", "quarantine"}
    for example in examples:
        keys = set(example) - optional
        assert any(keys == set(row) - optional for row in real), f"nothing that is written has the keys {sorted(keys)}"


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
        pool for path in (ROOT / "assets").rglob("*.py") for pool in re.findall(r'pool="([a-z]+)"', path.read_text())
    }
    assert pools == set(POOLS)
    for page in ("docs/reference/dagster.md", "docs/production/dagster.yaml"):
        text = (ROOT / page).read_text()
        assert {pool for pool in pools if pool not in text} == set()


def code_texts() -> set[str]:
    """The texts of several words in our code, each as a message reads: with … for what is put in."""
    found: set[str] = set()
    for file in (
        path for top in ("gristmill", "resources", "assets", "scripts") for path in (ROOT / top).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.add("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return {text for text in found if " " in text}


def test_every_message_in_troubleshooting_is_one_that_the_code_has() -> None:
    texts = code_texts()
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    tables = [table for table in page.split("\n\n") if table.startswith("| message |")]
    messages = [row.split("`")[1] for table in tables for row in table.splitlines()[2:] if row.startswith("| `")]
    assert len(messages) > 30
    for message in messages:
        parts = [part for part in (each.strip(" :;,()") for each in re.split(r"…|\.\.\.", message)) if len(part) > 2]
        assert any(all(part in text for part in parts) for text in texts), f"no message of ours reads {message!r}"
