"""YAML that energon reads as it was meant.

Energon reads plain scalars with a rule of its own: what Python's `int` or `float` takes becomes a number. PyYAML writes
the string `1e5` plain, and energon reads 100000.0. So strings are written in double quotes.
"""

import re
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from gristmill.errors import DataError

_ALIASED: Final = 100_000
"""Values that a document may have by aliases, besides one for each byte."""
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT: Final = "tag:yaml.org,2002:str"
_LIKE_OTHERS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"})


class _QuotedDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes strings in double quotes, keys that are plain words without."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - energon reads no anchors
        return True


def _represent_mapping(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
    node = dumper.represent_mapping("tag:yaml.org,2002:map", value.items())
    for key, _ in node.value:
        if _PLAIN_KEY.fullmatch(key.value) and key.value.lower() not in _LIKE_OTHERS:
            key.style = None
    return node


_QuotedDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar(_TEXT, text, style='"'))
_QuotedDumper.add_representer(dict, _represent_mapping)


def yaml_bytes(value: dict[str, Any]) -> bytes:
    """A YAML document. The order of keys stays, and every string is in double quotes.

    Args:
        value: mappings, lists, strings, numbers and booleans.

    >>> print(yaml_bytes({"path": "a.jsonl", "subflavors": {"version": "12e4567"}, "weight": 3}).decode(), end="")
    path: "a.jsonl"
    subflavors:
      version: "12e4567"
    weight: 3
    """
    text = yaml.dump(value, Dumper=_QuotedDumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return str(text).encode()


class _UsualDumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes as PyYAML does, but for strings that energon would take for numbers: it quotes them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - energon reads no anchors
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT
    return dumper.represent_scalar(_TEXT, text, style='"' if plain and _is_number(text) else None)


def _is_number(text: str) -> bool:
    """Whether energon takes a plain scalar for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


_UsualDumper.add_representer(str, _represent_text)


def usual_yaml_bytes(value: dict[str, Any]) -> bytes:
    """A YAML document as PyYAML writes it, with quotes only where they are needed.

    Args:
        value: mappings, lists and strings. The order of keys stays.

    >>> print(usual_yaml_bytes({"train": ["0.tar", "{1..2}.tar", "1e5"]}).decode(), end="")
    train:
    - 0.tar
    - '{1..2}.tar'
    - "1e5"
    """
    return str(yaml.dump(value, Dumper=_UsualDumper, sort_keys=False)).encode()


def _exceeds_expanded_size(value: object, most: int) -> bool:
    """Whether a value has more than so many values in it, each counted as often as it is reached."""
    waiting = [iter([value])]
    while waiting:
        for each in waiting[-1]:
            most -= 1
            if isinstance(each, dict | list):
                waiting.append(iter(each.values() if isinstance(each, dict) else each))
                break
        else:
            waiting.pop()
        if most < 0:
            return True
    return False


def read_yaml(data: bytes, where: str) -> dict[str, Any]:
    """The mapping of a YAML or JSON document.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: it is wrong, not a mapping, or its aliases repeat values too often.

    >>> read_yaml(b"exclude: []", "split.yaml")
    {'exclude': []}
    """
    try:
        value = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{where}: not valid YAML: {str(error)[:400]}; mend it") from error
    if b"&" in data and _exceeds_expanded_size(value, len(data) + _ALIASED):
        raise DataError(f"{where}: its aliases (`*`) repeat values without an end, or too often; write the values out")
    if not isinstance(value, dict):
        raise DataError(f"{where}: it is not a mapping of names to values; mend it")
    return value
