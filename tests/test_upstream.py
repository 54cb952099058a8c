"""What we take from Dagster's private modules: few imports, each with its reason and a program that shows the need."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest
from dagster._core.storage import tags as dagster_tags
from syntax import parsed, statements

from assets.support.runs import backfills, tags

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "internals" / "upstream.md").read_text()
PRIVATE = re.compile(r"dagster\._|dagster_\w+\._|dagster_webserver\b")
MOST = 10
ROW = re.compile(r"^\| `([\w.]+)` \| `([\w/]+\.py)` \| (.+) \|$", re.MULTILINE)
PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORKED_AROUND = PAGE[PAGE.index("\n### ") :].split("\n### ")[1:]
SECTIONS = [part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:] if not part.startswith("Worked around")]


def private_imports() -> list[tuple[str, str, list[str]]]:
    """Module, file and names of each import of a private module, also of those for types alone."""
    tops = [
        *(
            path
            for top in ("gristmill", "assets", "resources", "sensors", "scripts")
            for path in (ROOT / top).rglob("*.py")
        )
    ]
    found = []
    for path in (ROOT / "definitions.py", *sorted(tops)):
        for node in statements(parsed(path)):
            where = path.relative_to(ROOT).as_posix()
            if isinstance(node, ast.ImportFrom):
                modules = [(node.module or "", [alias.name for alias in node.names])]
            elif isinstance(node, ast.Import):
                modules = [(alias.name, []) for alias in node.names]
            else:
                continue
            for module, names in modules:
                private = module.startswith("dagster") and any(name.startswith("_") for name in names)
                if private or PRIVATE.match(module):
                    found.append((module, where, names))
    return found


def test_there_are_at_most_ten_imports_of_private_modules() -> None:
    found = private_imports()
    assert len(found) <= MOST, "\n".join(f"{where}: {module}" for module, where, _ in found)


def test_each_import_has_a_reason_in_the_page_and_the_page_has_no_other() -> None:
    found = {(module, where): names for module, where, names in private_imports()}
    told = {(module, where): reason for module, where, reason in ROW.findall(PAGE)}
    assert found.keys() == told.keys()
    missing = {
        (where, name) for (module, where), names in found.items() for name in names if name not in told[module, where]
    }
    assert missing == set(), "the page does not say what for"


def test_no_private_module_is_loaded_by_its_name() -> None:
    named = re.compile(r"""import_module\(["']dagster[\w.]*\._|["']dagster\._""")
    paths = [
        path
        for top in ("gristmill", "assets", "resources", "sensors", "scripts")
        for path in (ROOT / top).rglob("*.py")
    ]
    assert [path.name for path in paths if named.search(path.read_text())] == []


@pytest.mark.parametrize("section", SECTIONS, ids=[part.split("\n")[0] for part in SECTIONS])
def test_each_section_has_an_import(section: str) -> None:
    assert ROW.search(section)


@pytest.mark.parametrize(
    "section", [*SECTIONS, *WORKED_AROUND], ids=[part.split("\n")[0] for part in (*SECTIONS, *WORKED_AROUND)]
)
def test_each_section_is_ready_to_be_filed(section: str) -> None:
    assert "\nProposal: " in section
    ((program, printed),) = PROGRAM.findall(section)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "upstream.md", "exec"), {"__name__": "upstream"})
    assert out.getvalue() == printed


def test_dagsters_own_tags_and_states_are_as_we_have_written_them() -> None:
    ours = (tags.PARTITION, tags.BACKFILL, tags.RETRY_NUMBER, tags.WILL_RETRY, tags.RETRIED_BY)
    assert ours == (
        dagster_tags.PARTITION_NAME_TAG,
        dagster_tags.BACKFILL_ID_TAG,
        dagster_tags.RETRY_NUMBER_TAG,
        dagster_tags.WILL_RETRY_TAG,
        dagster_tags.AUTO_RETRY_RUN_ID_TAG,
    )
    from dagster._core.execution.backfill import BulkActionStatus

    going = {"REQUESTED", "CANCELING", "FAILING"}
    assert {each.value for each in BulkActionStatus} - backfills.ENDED == going
