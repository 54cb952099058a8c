"""Configuration files of the Dolma toolkit: YAML or JSON, with references to environment variables.

The toolkit reads its configurations with OmegaConf. Its published files use one kind of reference alone: a variable of
the environment, such as `${oc.env:HOME}`. Source: OmegaConf 2.3, "resolvers", `oc.env`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from gristmill.errors import RecipeError
from gristmill.formats.energon.yaml_text import read_yaml

_REFERENCE = re.compile(r"\$\{oc\.env:\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:,\s*([^{}$'\"]*?)\s*)?\}")


def read_configuration(data: bytes, where: str, variables: Mapping[str, str] | None) -> Any:
    """What a configuration file holds.

    Args:
        data: of the file.
        where: its path, for messages.
        variables: of the environment, by name; None: references stay as they are written.

    Returns:
        Dictionaries, lists, texts and numbers.

    Raises:
        DataError: it is neither JSON nor YAML.
        RecipeError: a reference cannot be resolved.

    >>> read_configuration(b'{"documents": ["${oc.env:DATA}/a.gz"]}', "mix.json", {"DATA": "/data"})
    {'documents': ['/data/a.gz']}
    """
    return resolved(_json(data) or read_yaml(data, where), variables, where)


def _json(data: bytes) -> Any:
    """JSON is YAML too, but a published file has more than a megabyte, and JSON is read a hundred times faster."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None  # the YAML reader names line and column


def resolved(value: Any, variables: Mapping[str, str] | None, where: str) -> Any:
    """The same values, with each reference to a variable replaced by the variable's value.

    Args:
        value: what a configuration file holds: texts, numbers, lists and dictionaries of them.
        variables: of the environment, by name; None: references stay as they are written.
        where: the configuration's path, for messages.

    Returns:
        Equal values. The text of a `replacement` stays as it is written: `$` has a meaning of its own there.

    Raises:
        RecipeError: a variable is not set and the reference has no default, or the reference is of another kind.

    >>> resolved({"documents": ["${oc.env:DATA}/*.gz", "${oc.env:OTHER,/tmp}/*"]}, {"DATA": "/data"}, "mix.yaml")
    {'documents': ['/data/*.gz', '/tmp/*']}
    """
    return value if variables is None else _resolved(value, variables, where, "")


def _resolved(value: Any, variables: Mapping[str, str], where: str, above: str) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(each, variables, where, f"{above}.{key}") for key, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each, variables, where, f"{above}.{number}") for number, each in enumerate(value)]
    if not isinstance(value, str) or "${" not in value or above.endswith(".replacement"):
        return value
    place = f"{where}: {above.lstrip('.')}"

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
