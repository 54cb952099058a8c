"""The draft of a recipe: the module of a source, as text, and the reader that it declares."""

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_WIDTH = 110
_DRAFT = "    draft=True,  # you may change it and make it again; remove this line when it is good"


@dataclass(frozen=True)
class Call:
    """A call in a recipe, such as `JsonLines(source="forum", id_key=None)`.

    Attributes:
        module: name of the class's module.
        name: name of the class.
        options: its arguments: values of JSON, None, tuples, or calls.
        given: its arguments without names, before the others.
    """

    module: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[Any, ...] = ()

    def text(self) -> str:
        """The call as Python."""
        named = (f"{key}={python_literal(value)}" for key, value in self.options.items())
        return f"{self.name}({', '.join([*map(python_literal, self.given), *named])})"

    def needed_imports(self) -> Iterator[tuple[str, str]]:
        """The module and name of all classes in it."""
        yield self.module, self.name
        for value in self.options.values():
            if isinstance(value, Call):
                yield from value.needed_imports()

    def made(self) -> Any:
        """The object that the call gives.

        Raises:
            RecipeError: an option is wrong.
        """
        options = {key: value.made() if isinstance(value, Call) else value for key, value in self.options.items()}
        return getattr(importlib.import_module(self.module), self.name)(*self.given, **options)


def python_literal(value: Any) -> str:
    """A value as Python, strings with double quotes.

    >>> print(python_literal(("a", None)), python_literal("it's"))
    ("a", None) "it's"
    """
    if isinstance(value, Call):
        return value.text()
    if isinstance(value, tuple):
        return f"({', '.join(map(python_literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{python_literal(key)}: {python_literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, str):
        if "\\" in value and value.isprintable() and '"' not in value and not value.endswith("\\"):
            return f'r"{value}"'
        shown = repr(value)
        if shown.startswith("'"):
            shown = '"' + shown[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
        return shown
    return repr(value)


def source_name_from_words(words: str) -> str:
    """A name for a source, from the name of a file or folder.

    >>> source_name_from_words("en_100 Tree.jsonl.gz"), source_name_from_words("2024")
    ('en-100-tree', 'source-2024')
    """
    stem = words.lower().partition(".")[0] or "source"
    name = "-".join(re.findall(r"[a-z0-9]+", stem)) or "source"
    return f"source-{name}" if name[0].isdigit() or name in {"index", "ledgers", "raw"} else name


SOURCE = Call("gristmill.recipes.source", "Source")
ADOPTED = Call("gristmill.recipes.adopted.dataset", "Adopted")


def source_text(reader: Call, options: Mapping[str, Any], what: str, kind: Call = SOURCE) -> str:
    """The module of a recipe.

    Args:
        reader: the call of its reader.
        options: the other options of the source, as in Call.
        what: one sentence for the docstring.
        kind: its class: SOURCE; or ADOPTED, which has no reader.
    """
    declared = {**options, "convert": reader} if kind == SOURCE else options
    imports: dict[str, set[str]] = {kind.module: {kind.name}}
    for call in declared.values():
        for module, name in call.needed_imports() if isinstance(call, Call) else ():
            imports.setdefault(module, set()).add(name)
    lines = [f'"""{what}"""', ""]
    lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    lines += ["", f"{str(options['name']).replace('-', '_').upper()} = {kind.name}("]
    for key, value in declared.items():
        lines += _option_lines(key, value)
        if key == "name":
            lines.append(_DRAFT)
    return "\n".join([*lines, ")", ""])


def _option_lines(key: str, value: Any) -> list[str]:
    line = f"    {key}={python_literal(value)},"
    if len(line) <= _WIDTH or not isinstance(value, Call):
        return [line]
    inner = [f"        {name}={python_literal(each)}," for name, each in value.options.items()]
    return [f"    {key}={value.name}(", *inner, "    ),"]
