"""Configuration files of the Dolma toolkit: YAML or JSON, with references to environment variables.

The toolkit reads its configurations with OmegaConf. Its published files use one kind of reference alone: a variable of
the environment, such as `${oc.env:HOME}`. Source: OmegaConf 2.3, "resolvers", `oc.env`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gristmill.errors import RecipeError
from gristmill.formats.yaml_text import read_yaml

_REFERENCE = re.compile(r"\$\{oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:,\s*([^{}$'\"]*?)\s*)?\}")


_NAMES = frozenset({"attribute_name", "attributes", "experiment", "name", "taggers"})
"""Keys whose values become parts of the names of files."""
_LEAST, _BEGUN = 4, 8
"""The length from which a value is hidden; and from which the beginning of one is, because messages are cut."""


class HiddenVariables(Mapping[str, str]):
    """Variables of the environment. Texts that are shown have their names in place of the values that were read.

    Args:
        variables: variables by name.

    >>> variables = HiddenVariables({"KEY": "secret"})
    >>> variables["KEY"], variables.hide_values("no folder secret/a")
    ('secret', 'no folder ${oc.env:KEY}/a')
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self._read.add(name)
        return self._variables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def hide_values(self, text: str) -> str:
        """A text without the values that were read.

        Args:
            text: a message.
        """
        values = sorted(((self._variables[name], name) for name in self._read), key=lambda each: -len(each[0]))
        for value, name in values:
            for form in dict.fromkeys((value, repr(value)[1:-1], json.dumps(value)[1:-1])):
                if len(form) >= _LEAST:
                    text = _replace_value_by_name(text, form, f"${{oc.env:{name}}}")
        return text


def _replace_value_by_name(text: str, value: str, name: str) -> str:
    """A text with a name for each place of a value, or of its beginning."""
    begun, found, at = value[:_BEGUN], "", 0
    while (place := text.find(begun, at)) >= 0:
        end = place
        while end < len(text) and end - place < len(value) and text[end] == value[end - place]:
            end += 1
        found, at = f"{found}{text[at:place]}{name}", end
    return found + text[at:]


def read_configuration(data: bytes, where: str, variables: Mapping[str, str] | None) -> Any:
    """What a configuration file holds.

    Args:
        data: content of the file.
        where: its path, for messages.
        variables: variables of the environment, by name; None: references stay as they are written.

    Returns:
        Dictionaries, lists, texts and numbers.

    Raises:
        DataError: it is neither JSON nor YAML.
        RecipeError: a reference cannot be resolved.

    >>> read_configuration(b'{"documents": ["${oc.env:DATA}/a.gz"]}', "mix.json", {"DATA": "/data"})
    {'documents': ['/data/a.gz']}
    """
    return resolve_variables(_parse_json_fast(data) or read_yaml(data, where), variables, where)


def _parse_json_fast(data: bytes) -> Any:
    """JSON is YAML too, but a published file has more than a megabyte, and JSON is read a hundred times faster."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None  # the YAML reader names line and column


def resolve_variables(value: Any, variables: Mapping[str, str] | None, where: str) -> Any:
    """The same values, with each reference to a variable replaced by the variable's value.

    Args:
        value: content of a configuration file: texts, numbers, lists and dictionaries of them.
        variables: variables of the environment, by name; None: references stay as they are written.
        where: the configuration's path, for messages.

    Returns:
        Equal values. The text of a `replacement` stays as it is written: `$` has a meaning of its own there.

    Raises:
        RecipeError: a variable is not set and the reference has no default, or the reference is of another kind.

    >>> resolve_variables({"documents": ["${oc.env:DATA}/*.gz", "${oc.env:OTHER,/tmp}/*"]}, {"DATA": "/data"}, "m.yaml")
    {'documents': ['/data/*.gz', '/tmp/*']}
    """
    return value if variables is None else _resolve_variables(value, variables, where, "")


def _resolve_variables(value: Any, variables: Mapping[str, str], where: str, above: str) -> Any:
    if isinstance(value, dict):
        return {key: _resolve_variables(each, variables, where, f"{above}.{key}") for key, each in value.items()}
    if isinstance(value, list):
        return [_resolve_variables(each, variables, where, f"{above}.{number}") for number, each in enumerate(value)]
    if not isinstance(value, str) or "${" not in value or above.endswith(".replacement"):
        return value
    place = f"{where}: {above.lstrip('.')}"
    if next(part for part in reversed(above.split(".")) if not part.isdigit()) in _NAMES:
        raise RecipeError(
            f"{place}: {value!r:.100} becomes a part of names of files, so it has no references; write the name itself"
        )

    def variable(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name in variables:
            return variables[name]
        if default is None or default == "null":
            raise RecipeError(f"{place}: the environment variable {name} is not set; set it, or write the value itself")
        return default

    if "${" in _REFERENCE.sub("", value):
        raise RecipeError(
            f"{place}: of all references such as ${{...}} only ${{oc.env:NAME}} and ${{oc.env:NAME,default}} are"
            " resolved; write the value itself"
        )
    return _REFERENCE.sub(variable, value)
