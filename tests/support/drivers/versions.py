"""Programs of another checkout of Gristmill, over recipes that are written for this one."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELF = Path(__file__).resolve().parents[1] / "shelves" / "oldshelf"
OURS = ("gristmill", "resources", "assets", "sensors", "scripts", "definitions")


class Checkout:
    """A checkout with a copy of tests/support/shelves/oldshelf that imports what it needs from where it is there.

    Args:
        root: of the checkout.
        folder: a new folder for the copy and for Dagster's files.
        lake: address of the lake.
    """

    def __init__(self, root: Path, folder: Path, lake: str) -> None:
        self.root = root.resolve()
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        shutil.copyfile(self.root / "dagster.yaml", self.home / "dagster.yaml")
        shutil.copytree(SHELF, folder / SHELF.name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (folder / SHELF.name).rglob("*.py"):
            path.write_text(adapted(path.read_text(), self.root))
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.root), str(folder)]),
            "DAGSTER_HOME": str(self.home),
            "GRISTMILL_LAKE": lake,
        }

    def run(self, *arguments: str) -> str:
        """Runs `python -m ...` in it; what it wrote.

        Raises:
            subprocess.CalledProcessError: it failed; what it wrote stands in this program's output.
        """
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, check=True, text=True
        ).stdout


def adapted(text: str, checkout: Path) -> str:
    """A module whose imports of Gristmill lead to where each name is defined in a checkout."""
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            names = [(alias.name, f" as {alias.asname}" if alias.asname else "") for alias in node.names]
            if all(_home(checkout, node.module, name) == node.module for name, _ in names):
                continue  # the lake knows the code of its recipes: it must be that of this shelf where it can
            leads = [f"from {_home(checkout, node.module, name)} import {name}{alias}" for name, alias in names]
            lines[node.lineno - 1 : node.end_lineno] = leads
    return "\n".join(lines) + "\n"


def _home(checkout: Path, module: str, name: str) -> str:
    """The module of a checkout that defines a name: of the same path, else of the same file name, else the only one."""
    same = checkout / f"{module.replace('.', '/')}.py"
    if same.exists() and name in _defined(same):
        return module
    modules = [path for top in OURS for path in (checkout / top).rglob("*.py") if name in _defined(path)]
    modules = [path for path in modules if path.stem == same.stem] or modules
    assert len(modules) == 1, f"{checkout}: {name} is defined in {len(modules)} modules: {modules}"
    return ".".join(modules[0].relative_to(checkout).with_suffix("").parts)


def _defined(path: Path) -> set[str]:
    """The functions, classes and constants of a module."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names
