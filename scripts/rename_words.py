# ruff: noqa: C901, PLR0912, PLR0915, PLW2901 - a tool for one commit
"""Renames classes, functions and constants of the platform wherever they are imported, used or named in docs.

python -m scripts.rename_words reads the table WORDS of scripts/words.py: one row for each module and name.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Mapping
from pathlib import Path

from scripts.words import ATTRIBUTES, WORDS

ROOT = Path(__file__).resolve().parent.parent
SPECIAL = re.compile(r"[a-z][A-Z]|[a-z]_[a-z]|[A-Z]_[A-Z]")


def new_names(path: Path, tree: ast.Module) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What names of this file are renamed, and what attributes of the modules that it imports."""
    own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    table = dict(WORDS.get(own, {}))
    modules: dict[str, dict[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            renamed = WORDS.get(node.module, {})
            table |= {a.name: renamed[a.name] for a in node.names if a.name in renamed and a.asname is None}
            for alias in node.names:
                if f"{node.module}.{alias.name}" in WORDS:
                    modules[alias.asname or alias.name] = WORDS[f"{node.module}.{alias.name}"]
    return table, modules


def in_words(text: str, table: Mapping[str, str], *, everything: bool = False, calls: bool = True) -> str:
    """Renames in prose: only names that no English word is."""
    for old, new in table.items():
        if everything or SPECIAL.search(old):
            text = re.sub(rf"(?<![\w/.-]){re.escape(old)}(?![\w/-])", new, text)
        elif calls and old[0].isupper() and not old.isupper():
            text = re.sub(rf"(?<![\w/.-]){re.escape(old)}(?=[(`])", new, text)
    return text


def in_examples(text: str, table: Mapping[str, str]) -> str:
    """Renames in the lines of code of a docstring."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            for old, new in table.items():
                line = re.sub(rf"(?<![\w/.\"'-]){re.escape(old)}(?![\w/=\"'-])", new, line)
            for old, new in ATTRIBUTES.items():
                line = re.sub(rf"\.{re.escape(old)}\b", f".{new}", line)
            lines[at] = line
    return "\n".join(lines)


def in_fields(text: str, table: Mapping[str, str]) -> str:
    """Renames in the braces of an f-string."""

    def rename(found: re.Match[str]) -> str:
        inner = found.group(0)
        for old, new in table.items():
            inner = re.sub(rf"(?<![\w.'\"]){re.escape(old)}(?![\w'\"])", new, inner)
        return (
            re.sub(
                r"\.(" + "|".join(map(re.escape, ATTRIBUTES)) + r")\b", lambda f: f".{ATTRIBUTES[f.group(1)]}", inner
            )
            if ATTRIBUTES
            else inner
        )

    return re.sub(r"\{[^{}]*\}", rename, text)


def renamed(path: Path, text: str) -> str:
    """The file with its names renamed."""
    table, modules = new_names(path, ast.parse(text))
    lines = text.splitlines(keepends=True)
    edits: list[tuple[int, int, int, str]] = []
    in_imports: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            in_imports |= set(range(node.lineno, (node.end_lineno or 0) + 1))
            for alias in node.names:
                new = WORDS.get(node.module or "", {}).get(alias.name)
                if new:
                    same = alias.asname == new
                    end = alias.end_col_offset if same else alias.col_offset + len(alias.name)
                    edits.append((alias.lineno, alias.col_offset, end or 0, new))
    before = [".", "."]
    depth = 0
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for at, token in enumerate(tokens):
        following = tokens[at + 1].string if at + 1 < len(tokens) else ""
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        if token.type == tokenize.NAME and token.start[0] not in in_imports:
            new = None
            keyword = following == "=" and depth > 0 and before[-1] in {"(", ","}
            if before[-1] == ".":
                new = modules.get(before[-2], {}).get(token.string) or ATTRIBUTES.get(token.string)
            elif keyword:
                new = ATTRIBUTES.get(token.string)
            elif token.string in table:
                new = table[token.string]
            elif following == ":" and token.string in ATTRIBUTES and before[-1].strip() in {"", "\n"}:
                new = ATTRIBUTES[token.string]  # a field of a class
            elif before[-1] == "def" and token.string in ATTRIBUTES:
                new = ATTRIBUTES[token.string]
            if new:
                edits.append((*token.start, token.end[1], new))
        elif token.type in {tokenize.STRING, tokenize.COMMENT}:
            prefix = re.match(r"[a-zA-Z]*", token.string)
            is_f = prefix is not None and "f" in prefix.group(0).lower() and token.type == tokenize.STRING
            made = in_fields(token.string, table) if is_f else token.string
            program = re.search(r"from gristmill[\w.]* import", token.string)
            if program and token.type == tokenize.STRING and '"""' not in token.string:
                for found in re.finditer(r"from (gristmill[\w.]*) import (\w+(?:, \w+)*)", token.string):
                    for name in found.group(2).split(", "):
                        new = WORDS.get(found.group(1), {}).get(name)
                        if new:
                            made = re.sub(rf"\b{name}\b", new, made)
            annotation = before[-1] in {":", "->", "|", "["} and re.fullmatch(r"\"[\w., |\[\]]+\"", token.string)
            if token.type == tokenize.COMMENT or '"""' in token.string or annotation:
                made = in_words(in_examples(made, table), table, everything=bool(annotation))
            if made != token.string and token.start[0] == token.end[0]:
                edits.append((*token.start, token.end[1], made))
            elif made != token.string:
                edits.append((token.start[0], token.start[1], -token.end[0] * 10000 - token.end[1], made))
        if token.type not in {tokenize.NL, tokenize.COMMENT}:
            before = [before[-1], token.string]
    for row, begin, end, new in sorted(edits, reverse=True):
        if end < 0:
            last, column = divmod(-end, 10000)
            tail = lines[last - 1][column:]
            lines[row - 1 : last] = [lines[row - 1][:begin] + new + tail]
        else:
            line = lines[row - 1]
            lines[row - 1] = line[:begin] + new + line[end:]
    return "".join(lines)


def main() -> None:
    """Renames everywhere."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    everything = {old: new for table in WORDS.values() for old, new in table.items()}
    twice = [n for n in everything if len({t[n] for t in WORDS.values() if n in t}) > 1]
    safe = {old: new for old, new in everything.items() if old not in twice}
    for name in listed:
        path = ROOT / name
        if not path.exists() or name in {"scripts/words.py", "scripts/rename_words.py"}:
            continue
        if path.suffix == ".py":
            text = path.read_text()
            made = renamed(path, text)
            for module, table in WORDS.items():
                for old, new in table.items():
                    made = re.sub(rf"\b{re.escape(module)}\.{re.escape(old)}\b", f"{module}.{new}", made)
        elif path.suffix == ".md":
            text = path.read_text()
            made = in_words(text, safe, calls=False)
        else:
            continue
        if made != text:
            path.write_text(made)
    ruff = str(ROOT / ".venv/bin/ruff")
    subprocess.run([ruff, "check", "--quiet", "--select", "I", "--fix", "."], cwd=ROOT, check=False)
    subprocess.run([ruff, "format", "--quiet", "."], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
