"""Moves modules to their rooms: files, imports, and every mention in strings, docs and settings.

python -m scripts.rehouse FROM TO moves the groups FROM to TO of scripts/rehouse_map.py, once for each moving commit.
python -m scripts.rehouse --rewrite FILE ... brings files to the new names that were written before the move.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.rehouse_map import GROUPS, PARTS, REWORDED, SUPPORT, TESTS

ROOT = Path(__file__).resolve().parent.parent
TEXTS = (".py", ".md", ".toml", ".yaml", ".txt", "Makefile", "run")


def path_of(module: str) -> Path:
    """The file of a dotted module."""
    return ROOT / (module.replace(".", "/") + ".py")


@dataclass
class Piece:
    """What a new module gets from an old one."""

    doc: str | None = None
    imports: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def words_in(node: ast.AST) -> set[str]:
    """All names that are read in a node, those in annotations of text too."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def pieces(old: str, new: str, parts: dict[str, list[str]]) -> dict[str, Piece]:
    """The old module cut into its new ones."""
    source = path_of(old).read_text()
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source)
    where = {name: module for module, names in parts.items() for name in names}
    made = {module: Piece() for module in (new, *parts)}
    imports: list[str] = []
    nodes = list(tree.body)
    if nodes and is_text(nodes[0]):
        doc = nodes.pop(0)
        made[new].doc = "".join(lines[doc.lineno - 1 : doc.end_lineno])
    last = 0
    target = new
    body_began = False
    for node in nodes:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        while first > last and lines[first - 1].startswith("#"):
            first -= 1
        gap = "\n" * (first - last) if body_began else "\n\n"
        body_began = not isinstance(node, ast.Import | ast.ImportFrom)
        text = "".join(lines[first : node.end_lineno])
        last = node.end_lineno or 0
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(text)
            continue
        if not is_text(node):
            defined = names_of(node)
            targets = {where.get(name, new) for name in defined} or {new}
            if len(targets) > 1:
                raise SystemExit(f"{old}:{node.lineno}: {defined} go to {targets}")
            target = targets.pop()
            made[target].names |= set(defined)
        made[target].body.append(gap + text)
        made[target].used |= words_in(node)
    for module, piece in made.items():
        piece.imports = list(imports)
        for other, theirs in made.items():
            shared = sorted(piece.used & theirs.names)
            if other != module and shared:
                piece.imports.append(f"from {other} import {', '.join(shared)}\n")
    return made


def place(module: str, piece: Piece, doc: str | None) -> None:
    """Writes a piece into its module, behind what is there."""
    path = path_of(module)
    path.parent.mkdir(parents=True, exist_ok=True)
    package = path.parent
    while package not in {ROOT, ROOT / "tests"} and package.is_relative_to(ROOT):
        if not package.is_relative_to(ROOT / "tests"):
            (package / "__init__.py").touch()
        package = package.parent
    body = "".join(piece.body)
    if path.exists():
        old = path.read_text()
        tree = ast.parse(old)
        lines = old.splitlines(keepends=True)
        at = 0
        for node in tree.body:
            if (is_text(node) and node is tree.body[0]) or isinstance(node, ast.Import | ast.ImportFrom):
                at = node.end_lineno or 0
        text = "".join(lines[:at]) + "\n" + "".join(piece.imports) + "".join(lines[at:]) + body
    else:
        first = f'"""{doc}"""\n' if doc else piece.doc or ""
        text = first + "\n" + "".join(piece.imports) + body
    path.write_text(text)


class Moves:
    """Where each name and module has gone."""

    def __init__(self) -> None:
        self.main: dict[str, str] = {}
        self.names: dict[tuple[str, str], str] = {}
        self.all_new: set[str] = set()

    def new(self, module: str, name: str) -> str:
        return self.names.get((module, name), self.main[module])

    def import_lines(self, module: str, names: Iterable[ast.alias], indent: str, tail: str, own: str = "") -> str:
        by_module: dict[str, list[str]] = {}
        for alias in names:
            if self.new(module, alias.name) == own:
                continue
            said = alias.name + (f" as {alias.asname}" if alias.asname else "")
            by_module.setdefault(self.new(module, alias.name), []).append(said)
        return "".join(f"{indent}from {new} import {', '.join(said)}{tail}\n" for new, said in by_module.items())

    def rewrite_imports(self, text: str, own: str) -> str:
        """The imports of a Python file, by its syntax tree."""
        tree = ast.parse(text)
        lines = text.splitlines(keepends=True)
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom | ast.Import)]
        for node in sorted(nodes, key=lambda n: -n.lineno):
            begin, end = node.lineno - 1, node.end_lineno or 0
            indent = lines[begin][: node.col_offset]
            comment = re.search(r"  #.*", lines[end - 1])
            tail = comment.group(0).rstrip() if comment else ""
            if isinstance(node, ast.ImportFrom) and node.module in self.main:
                lines[begin:end] = [self.import_lines(node.module, node.names, indent, tail, own)]
            elif isinstance(node, ast.ImportFrom) and node.module == own:
                del lines[begin:end]
            elif isinstance(node, ast.ImportFrom):
                kept, made = [], ""
                for alias in node.names:
                    new = self.main.get(f"{node.module}.{alias.name}")
                    if new is None:
                        kept.append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
                        continue
                    package, _, name = new.rpartition(".")
                    bound = alias.asname or alias.name
                    made += f"{indent}from {package} import {name}" + (f" as {bound}" if bound != name else "") + tail
                    made += "\n"
                if made:
                    rest = f"{indent}from {node.module} import {', '.join(kept)}{tail}\n" if kept else ""
                    lines[begin:end] = [rest + made]
        return "".join(lines)

    def rewrite_mentions(self, text: str) -> str:
        """What strings, comments and docs say of modules and files."""
        text = re.sub(
            r"(?P<indent>^[ \t>]*|[\"'(`]|; |\\n)from (?P<module>[\w.]+) import (?P<names>\w+(?:, \w+)*)",
            self._import_in_text,
            text,
            flags=re.MULTILINE,
        )
        dotted = sorted(self.main, key=len, reverse=True)
        if not dotted:
            return text
        pattern = r"\b(" + "|".join(re.escape(d) for d in dotted) + r")\b(?!/| import\b)(?:\.(\w+))?"
        text = re.sub(pattern, self._dotted, text)
        files = {f"{d.replace('.', '/')}.py": f"{n.replace('.', '/')}.py" for d, n in self.main.items()}
        short = {a.removeprefix("gristmill/"): b.removeprefix("gristmill/") for a, b in files.items()}
        for table in (files, short):
            pattern = r"(?<![\w/])(" + "|".join(re.escape(k) for k in sorted(table, key=len, reverse=True)) + r")"
            text = re.sub(pattern, lambda found, table=table: table[found.group(1)], text)  # type: ignore[misc]
        return text

    def _import_in_text(self, found: re.Match[str]) -> str:
        module = found["module"]
        named = {f"{module}.{name}" for name in found["names"].split(", ")}
        if module not in self.main or named & self.all_new:
            return found.group(0)
        aliases = [ast.alias(name) for name in found["names"].split(", ")]
        made = self.import_lines(module, aliases, "", "").rstrip("\n").split("\n")
        indent = found["indent"]
        glue = "\n" + indent if not indent.strip() else "; "
        return indent + glue.join(made)

    def _dotted(self, found: re.Match[str]) -> str:
        module, name = found.group(1), found.group(2)
        if name and any(f"{new}.".startswith(f"{module}.{name}.") for new in self.all_new):
            return found.group(0)  # said already as it is now
        new = self.new(module, name) if name else self.main[module]
        return new + (f".{name}" if name else "")


def files() -> list[Path]:
    """Every file of the project in which a module may be mentioned."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = [ROOT / name for name in listed]
    return [p for p in found if p.exists() and p.name.endswith(TEXTS) and not p.name.startswith("rehouse")]


def git_move(old: Path, new: Path) -> None:
    """Moves a file so that git sees it."""
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], cwd=ROOT, check=True)


def move_tests() -> None:
    """Moves the tests to where what they test lies, and their helpers to tests/support."""
    moved = dict(TESTS)
    for room, names in SUPPORT.items():
        moved |= {f"tests/recipes/{name}": f"tests/support/{room}/{name}" for name in names}
    for old, new in moved.items():
        git_move(ROOT / old, ROOT / new)
        deeper = new.count("/") - old.count("/")
        for path in [ROOT / new] if new.endswith(".py") else (ROOT / new).rglob("*.py"):
            text = path.read_text()
            made = re.sub(
                r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d+)\]",
                lambda found, deeper=deeper: f"{found.group(1)}{int(found.group(2)) + deeper}]",  # type: ignore[misc]
                text,
            )
            made = re.sub(r"(__file__\)\.resolve\(\)(?:\.parent)+)\b", rf"\1{'.parent' * deeper}", made)
            path.write_text(made)
    table = sorted(moved.items(), key=lambda pair: -len(pair[0]))
    for path in files():
        text = path.read_text()
        made = text
        for old, new in table:
            made = re.sub(rf"(?<![\w/]){re.escape(old)}(?![\w])", new, made)
        if made != text:
            path.write_text(made)


def main(first: int, last: int) -> None:
    """Moves these groups."""
    moves = Moves()
    for group in GROUPS[first : last + 1]:
        for old, new in group.items():
            moves.main[old] = new
            for module, names in PARTS.get(old, {}).items():
                moves.names |= {(old, name): module for name in names}
    moves.all_new = {*moves.main.values(), *moves.names.values()}
    for old, new in moves.main.items():
        cut = pieces(old, new, PARTS.get(old, {}))
        if not path_of(new).exists():
            git_move(path_of(old), path_of(new))
            path_of(new).unlink()
        else:
            path_of(old).unlink()
        for module, piece in cut.items():
            place(module, piece, REWORDED.get(module))
    for path in files():
        text = path.read_text()
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        made = moves.rewrite_imports(text, own) if path.suffix == ".py" else text
        made = moves.rewrite_mentions(made)
        if made != text:
            path.write_text(made)
    if last + 1 == len(GROUPS):
        move_tests()
    ruff = [str(ROOT / ".venv/bin/ruff")]
    subprocess.run(
        [*ruff, "check", "--quiet", "--select", "I,F401,F811,TC001", "--unsafe-fixes", "--fix", "."],
        cwd=ROOT,
        check=False,
    )
    subprocess.run([*ruff, "format", "--quiet", "."], cwd=ROOT, check=True)


def rewrite(paths: Iterable[Path]) -> None:
    """Brings files to the new names."""
    moves = Moves()
    for group in GROUPS:
        for old, new in group.items():
            moves.main[old] = new
            for module, names in PARTS.get(old, {}).items():
                moves.names |= {(old, name): module for name in names}
    moves.all_new = {*moves.main.values(), *moves.names.values()}
    for path in paths:
        text = path.read_text()
        own = ".".join(path.resolve().relative_to(ROOT).with_suffix("").parts)
        made = moves.rewrite_imports(text, own) if path.suffix == ".py" else text
        path.write_text(moves.rewrite_mentions(made))


if __name__ == "__main__":
    if sys.argv[1] == "--rewrite":
        rewrite(map(Path, sys.argv[2:]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
