"""Docstrings say what goes in and what comes out, in nouns.

The rules for public functions, methods and classes (module-level, or in a public class):

* an entry of `Args:` or `Attributes:` begins with its noun. `sizes: of the shards` borrows the parameter's name,
  `say: receives each line` has a verb only: neither tells a reader what is passed;
* an entry for an array or a pyarrow value names a shape, a dtype or a unit; one for bytes says what they encode;
* a function that returns a value has `Returns:` or `Yields:`, or its first sentence is the value's noun phrase. An
  array's shape is said in words, and its dtype too where the annotation leaves it open;
* a method may leave its docstring to the protocol or base class that declares its name.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("gristmill", "assets", "resources", "sensors")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

NOT_NOUNS = re.compile(
    "also|as|at|by|for|from|how|if|in|into|is|of|on|see|since|that|those|to|under|what|when|where|which|who|whose|why|with|"
    "within|without"
)
VERBS = re.compile(
    "becomes|begins|called|computes|converts|declares|decodes|divides|draws|encodes|explains|finds|gets|gives|"
    "grinds|has|holds|keeps|knows|learns|leaves|looks|makes|opens|passes|puts|raises|reads|receives|refuses|returns|"
    "says|selects|sends|shows|stands|takes|tells|waits|walks|writes|yields"
)
RESULT = re.compile("a|all|an|any|both|each|every|findings|its|no|one|the|whether|returns|yields")
"""First words of a sentence that names a result. Other verbs (`Reads`, `Opens`) describe an action instead."""

SAYS_RESULT = re.compile(r"^(Returns|Yields):|^[^\n].*\. Returns ", re.MULTILINE)
NOTHING = frozenset({"None", "Iterator[None]", "Generator[None]", "NoReturn", "Never", "Self"})
ENTRY = re.compile(r"    (\*{0,2}\w+)(?:, \*{0,2}\w+)*: +(.*)")
SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields|Examples?|Notes?|Sources?):")
ARRAY = re.compile(r"\b(NDArray|ArrayLike|ndarray|pa\.(Table|RecordBatch|Array|ChunkedArray))\b")
BYTES = re.compile(
    r"((Iterable|Iterator|Sequence|list)\[)?(bytes|memoryview)\]?( \| (None|memoryview))?|Mapping\[str, bytes\]"
)
ENCODED = re.compile(r"\b(bytes?|content|lines?|UTF-8|ASCII|JSON|YAML|XML|HTML|gzip)\b")
SHAPE = re.compile(
    r"\([A-Z]\w*( [+-] \d)?\)|\([a-z]( [+-] \d)?\)|\([\w+*/ -]+,[\w+*/, -]*\)|\((0x|count|length|rows|documents)\w*\)|"
    r"\b(each|per)\b"
)
UNIT = re.compile(
    r"\b(u?int(8|16|32|64)?|float(16|32|64)?|bool|dtype|bytes?|characters?|code points?|tokens?|rows?|columns?|bits?|"
    r"ids?|ordinals?|offsets?|hashes|texts?)\b"
)


def entries(docstring: str) -> Iterator[tuple[str, str]]:
    """The names and texts of `Args:` and `Attributes:`; a text's lines are joined by spaces."""
    section, name, text = "", "", ""
    for line in [*docstring.splitlines(), "Notes:"]:
        head, entry = SECTION.match(line), ENTRY.match(line)
        if name and (head or entry or not line.startswith(" ")):
            yield name, text
            name = ""
        if head:
            section = head[1]
        elif entry and section in {"Args", "Attributes"}:
            name, text = entry[1].strip("*"), entry[2]
        elif name:
            text += f" {line.strip()}"


def public(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Public functions, classes and methods of a module, with their full names."""
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield f"{inside}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{node.name}.")


def annotations(node: ast.ClassDef | Function) -> dict[str, str]:
    """The annotations of a function's parameters; of a class: of its fields and of its constructor's parameters."""
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        result = {ast.unparse(each.target): ast.unparse(each.annotation) for each in fields}
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                result |= annotations(each)
        return result
    given = node.args
    return {
        each.arg: ast.unparse(each.annotation)
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)
        if each.annotation is not None
    }


@cache
def arrays(module: Path) -> frozenset[str]:
    """The names of a module that stand for a type of array, as in `Numbers = NDArray[np.int64]`."""
    names: set[str] = set()
    for node in ast.parse(module.read_text()).body if module.is_file() else []:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and ARRAY.match(ast.unparse(node.value)):
            names |= {ast.unparse(each) for each in getattr(node, "targets", [getattr(node, "target", None)]) if each}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {each.name for each in node.names} & arrays(ROOT / f"{node.module.replace('.', '/')}.py")
    return frozenset(names)


def of_array(annotation: str, known: frozenset[str]) -> bool:
    return bool(ARRAY.search(annotation)) or not known.isdisjoint(re.findall(r"\w+", annotation))


def bare(name: str, text: str, annotation: str, known: frozenset[str]) -> str | None:
    """What an entry lacks; None if nothing."""
    first = re.split(r"[\s,.;:]", text.lower(), maxsplit=1)[0]
    if NOT_NOUNS.fullmatch(first) or VERBS.fullmatch(first):
        return f"`{name}: {' '.join(text.split()[:4])}` does not begin with a noun"
    if of_array(annotation, known) and not SHAPE.search(text) and not UNIT.search(text):
        return f"`{name}: {' '.join(text.split()[:4])}` names no shape, dtype or unit of {annotation}"
    if BYTES.fullmatch(annotation) and not ENCODED.search(text):
        return f"`{name}: {' '.join(text.split()[:4])}` does not say what the bytes encode"
    return None


def unsaid(node: Function, docstring: str, known: frozenset[str]) -> str | None:
    """What a docstring leaves out about a function's result; None if nothing."""
    result = ast.unparse(node.returns).strip("'\"") if node.returns else "None"
    if result in NOTHING:
        return None
    first = docstring.split(maxsplit=1)[0].lower().strip("`'\",.:")
    if not RESULT.fullmatch(first) and not SAYS_RESULT.search(docstring):
        return f"returns {result}, but its first word {first!r} begins no value's name and it has no Returns:"
    if of_array(result, known):
        if not SHAPE.search(docstring):
            return f"returns {result}, but tells no shape"
        if "Any" in result and not UNIT.search(docstring):
            return f"returns {result}, but tells no dtype"
    return None


@cache
def declared() -> frozenset[str]:
    """Names of methods and properties that some class describes, such as the protocol that they implement."""
    names: set[str] = set()
    for path in files("."):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                said = {each.name: ast.get_docstring(each) for each in node.body if isinstance(each, Function)}
                names |= {name for name, docstring in said.items() if docstring and not docstring.startswith("See ")}
                names |= {name for name, _ in entries(ast.get_docstring(node) or "")}
    return frozenset(names)


def faults(source: str, described: frozenset[str] = frozenset(), known: frozenset[str] = frozenset()) -> list[str]:
    """The names of a module whose docstrings break a rule, and how.

    Args:
        source: text of the module.
        described: names of methods that may have no docstring, or refer to another.
        known: names of types of arrays.
    """
    result: list[str] = []
    for name, node in public(ast.parse(source)):
        docstring, types = ast.get_docstring(node) or "", annotations(node)
        made = [each for each in getattr(node, "body", ()) if isinstance(each, Function) and each.name == "__init__"]
        for text in [docstring, *(ast.get_docstring(each) or "" for each in made if isinstance(node, ast.ClassDef))]:
            found = [bare(entry, words, types.get(entry, ""), known) for entry, words in entries(text)]
            result += [f"{name}: {each}" for each in found if each]
        if isinstance(node, ast.ClassDef) or "overload" in map(ast.unparse, node.decorator_list):
            continue
        refers = "." in name and node.name in described and (not docstring or docstring.startswith("See "))
        fault = None if refers else unsaid(node, docstring or "-", known)
        result += [f"{name}: {fault}"] if fault else []
    return result


def files(room: str) -> list[Path]:
    roots = [ROOT / top for top in TOPS] if room == "." else [ROOT / room]
    return sorted(path for root in roots for path in (root.rglob("*.py") if root.is_dir() else [root]))


def room_of(path: Path) -> str:
    """A file's room: `gristmill/text`, in the largest packages a folder below, or a folder of the Dagster location."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 1 if parts[0] != "gristmill" else 3 if parts[1] in {"lake", "stages"} else 2])


ROOMS = sorted({room_of(path) for path in files(".")})


def faults_of_room(room: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in files(room)
        if room_of(path) == room
        for fault in faults(path.read_text(), declared(), arrays(path))
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_name_what_goes_in_and_out(room: str) -> None:
    assert not faults_of_room(room), "\n".join(faults_of_room(room))


BORROWED = """
def cut(sizes, say, table: 'NDArray[np.int64]', kept: Sizes, data: bytes, end) -> None:
    '''Cuts files.

    Args:
        sizes: of the shards
        say: receives each line
        table: the places
        kept: the ones
        data: the file
        end: offset where
            the last shard ends
    '''
def bare(path) -> bytes: ...
def opens(path) -> bytes: "Opens a file."
def counted() -> 'NDArray[np.int64]': "The counts."
def untyped() -> 'NDArray[Any]': "The values, shape (n,)."
class Part:
    '''A part.

    Attributes:
        name: of the part.
        '''
    def size(self) -> int: ...
    def again(self) -> int: "See Whole."
"""

SAID = """
def cut(sizes, say, table: 'NDArray[np.int64]', kept: Sizes, data: bytes, *rest) -> None:
    '''Cuts files.

    Args:
        sizes: sizes of the shards in bytes
        say: function that receives each line
        table: offsets of the shards (n)
        kept: sizes in bytes
        data: content of the file
        *rest: names
    '''
def opened(path) -> bytes: "The bytes of a file."
def opens(path) -> bytes:
    '''Opens a file.

    Returns:
        Its bytes.
    '''
def counted() -> 'NDArray[np.int64]': "The counts, one for each shard."
def _private(path) -> bytes: ...
class Part:
    def size(self) -> int: ...
    def again(self) -> int: "See Whole."
"""


def test_entries_without_a_noun_and_results_without_words_are_found() -> None:
    assert faults(BORROWED, known=frozenset({"Sizes"})) == [
        "cut: `sizes: of the shards` does not begin with a noun",
        "cut: `say: receives each line` does not begin with a noun",
        "cut: `table: the places` names no shape, dtype or unit of 'NDArray[np.int64]'",
        "cut: `kept: the ones` names no shape, dtype or unit of Sizes",
        "cut: `data: the file` does not say what the bytes encode",
        "bare: returns bytes, but its first word '-' begins no value's name and it has no Returns:",
        "opens: returns bytes, but its first word 'opens' begins no value's name and it has no Returns:",
        "counted: returns NDArray[np.int64], but tells no shape",
        "untyped: returns NDArray[Any], but tells no dtype",
        "Part: `name: of the part.` does not begin with a noun",
        "Part.size: returns int, but its first word '-' begins no value's name and it has no Returns:",
        "Part.again: returns int, but its first word 'see' begins no value's name and it has no Returns:",
    ]
    assert not faults(SAID, frozenset({"size", "again"}), frozenset({"Sizes"}))
