"""Who may import whom (DESIGN, the house): one test a file, so that a message names the file and the import."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("gristmill", "resources", "assets", "sensors")
SHELVES = ("sources", "taggers", "mixes", "tokenizers", "exports")
ABOVE = {"gristmill": 0, "resources": 1, "assets": 2, "sensors": 3}
FILES = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))
BANNED_BELOW = ("dagster", "dagster_aws", "s3fs")
CLIENTS = {
    "obstore": "gristmill.lake.store.s3",
    "boto3": "gristmill.lake.store.s3_multipart",
    "botocore": "gristmill.lake.store.s3_multipart",
}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno}: relative import"
            yield node.module or "", node.lineno


def floor(module: str) -> int:
    """Of a module inside gristmill: errors 0, lake 1, stages 2, shelves 3, everything beside them 4."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] == "errors":
        return 0
    floors = {**dict.fromkeys(("text", "reports"), 0), **dict.fromkeys(("lake", "formats", "shelf"), 1)}
    floors |= dict.fromkeys(("execution", "engines", "raw_data", "recipes", "readers", "stages"), 2)
    return floors.get(parts[1], 3 if parts[1] in SHELVES else 4)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_only_what_lies_below_it(path: Path) -> None:
    here = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    room = here.split(".")[0]
    for module, line in imports(path):
        top = module.split(".")[0]
        where = f"{path.relative_to(ROOT)}:{line}: {module}"
        if top in ABOVE:
            assert ABOVE[top] <= ABOVE[room], f"{where} reaches up"
            if top == room == "gristmill":
                assert floor(module) <= floor(here), f"{where} reaches up"
                same_shelf = floor(module) == floor(here) == 3
                assert not same_shelf or module == here, f"{where}: shelves do not import each other"
        if room == "gristmill":
            client = CLIENTS.get(top, here) == here
            assert client, f"{where}: buckets are for lake/store/s3.py and lake/store/s3_multipart.py"
            assert top not in BANNED_BELOW, f"{where}: gristmill knows no orchestrator and no other cloud client"
        assert top != "definitions", f"{where}: nobody imports definitions"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_code_asserts_prints_or_swallows(path: Path) -> None:
    tree = ast.parse(path.read_text())
    printing_allowed = "commands" in path.parts or path.name == "__main__.py"
    for node in ast.walk(tree):
        where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        assert not isinstance(node, ast.Assert), f"{where}: assert outside tests"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not printing_allowed:
            assert node.func.id != "print", f"{where}: print"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"{where}: bare except"
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            assert node.exc.func.id != "Exception", f"{where}: bare Exception"


def test_environment_variables_are_read_in_one_file() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in FILES
        if any(word in path.read_text() for word in ("os.environ.get", "os.getenv", "environ["))
    }
    assert readers <= {"gristmill/environment.py"}


def test_asset_files_do_not_import_each_other() -> None:
    for path in (ROOT / "assets").glob("*.py"):
        for module, line in imports(path):
            if module.startswith("assets."):
                assert module.split(".")[1] in {"support", "checks"}, f"{path.name}:{line} imports {module}"


@pytest.mark.parametrize("path", [*(ROOT / "gristmill").rglob("__init__.py"), *(ROOT / "assets").glob("__init__.py")])
def test_package_files_are_empty(path: Path) -> None:
    assert not path.read_text().strip()
