"""The configuration of `dolma tag`, as the toolkit's file and its options give it.

Source: github.com/allenai/dolma, release 1.2.1, `cli/tagger.py` (TaggerConfig) and `core/runtime.py`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from gristmill.dolma.formats.configuration import read_configuration
from gristmill.errors import RecipeError, known_names

FIELDS: Mapping[str, type] = {
    "documents": list,
    "destination": list,
    "tagger_modules": list,
    "taggers": list,
    "experiment": str,
    "processes": int,
    "ignore_existing": bool,
    "debug": bool,
    "dryrun": bool,
    "profile.enable": bool,
    "profile.output": str,
    "profile.steps": int,
    "profile.sort_key": str,
    "profile.lines": int,
    "work_dir.input": str,
    "work_dir.output": str,
}
"""The toolkit's options, a dot before the second part of a name."""


@dataclass(frozen=True)
class TagConfig:
    """What is tagged, and how.

    Attributes:
        documents: paths or patterns of files, folders or addresses in a bucket.
        taggers: names of Dolma's taggers.
        experiment: the first part of the labels' names; None: each tagger's own name.
        destination: a folder for each entry of `documents`; None: `documents` becomes `attributes/<experiment>`.
        processes: number of files that are tagged at the same time.
        ignore_existing: whether files that this command has finished before are made again.
        dryrun: whether nothing is done.
    """

    documents: tuple[str, ...]
    taggers: tuple[str, ...]
    experiment: str | None = None
    destination: tuple[str, ...] | None = None
    processes: int = 1
    ignore_existing: bool = False
    dryrun: bool = False


def read_config(
    data: bytes, where: str, fields: Mapping[str, type] = FIELDS, variables: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """The fields of a configuration file, YAML or JSON, with the names of the toolkit's options.

    Args:
        data: content of the file.
        where: its path, for messages.
        fields: the options, each with its type.
        variables: variables of the environment.

    Raises:
        DataError: it is no YAML.
        RecipeError: a key is not known, a value has a wrong type, or a reference cannot be resolved.
    """
    given = read_configuration(data, where, variables)
    return {key: _check_value(key, value, where, fields) for key, value in _flatten_values(given, "", fields)}


def _flatten_values(values: Mapping[str, Any], above: str, fields: Mapping[str, type]) -> Iterator[tuple[str, Any]]:
    """The values by their full names, such as `work_dir.input`."""
    for part, value in values.items():
        key = f"{above}{part}"
        group = any(name.startswith(f"{key}.") for name in fields)
        if group and isinstance(value, dict):
            yield from _flatten_values(value, f"{key}.", fields)
        elif key in fields or not (group and value is None):
            yield key, value


def _check_value(key: str, value: Any, where: str, fields: Mapping[str, type]) -> Any:
    if key not in fields:
        raise RecipeError(f"{where}: unknown key {key!r}; {known_names(key, fields)}")
    kind = fields[key]
    if kind is list and isinstance(value, str):
        raise RecipeError(f"{where}: {key}: give a list, such as [{value}]")
    if kind is float and isinstance(value, int | str) and not isinstance(value, bool):
        value = _parse_number(value)  # YAML 1.1 reads 1e-06 as a string
    fits = value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))
    if not fits or (kind is list and not all(isinstance(each, str) for each in value or ())):
        raise RecipeError(f"{where}: {key}: {value!r:.100} is not {_KINDS[kind]}")
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _parse_number(value: int | str) -> float | str | int:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return value


_KINDS = {list: "a list of strings", str: "a string", int: "an integer", float: "a number", bool: "true or false"}


_LARGEST = 2**63 - 1
"""The largest number that the record of a run can hold."""


def check_values(given: Mapping[str, Any]) -> None:
    """Checks that the values can be used in paths and in the record of a run.

    Args:
        given: values by the names of the options; null is not among them.

    Raises:
        RecipeError: a number is too large, or a string has a lone surrogate, or a NUL where that cannot be.
    """
    for key, value in given.items():
        if isinstance(value, int) and value > _LARGEST:
            raise RecipeError(f"{key}: {value} is more than {_LARGEST}; give a smaller number")
        for text in (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)):
            if _SURROGATE.search(text):
                raise RecipeError(f"{key}: {text!r} has a lone surrogate; write it without")
            if "\0" in text and not key.endswith("separator"):
                raise RecipeError(f"{key}: {text!r} has a NUL; write it without")


def tag_config(fields: Mapping[str, Any]) -> TagConfig:
    """The configuration of the merged fields of file and options.

    Args:
        fields: values by the names of FIELDS; null is the default.

    Raises:
        RecipeError: a field is missing, or asks for what only the toolkit itself can do.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    check_values(given)
    if given.get("tagger_modules"):
        raise RecipeError(
            "tagger_modules: modules for the toolkit need the toolkit; write a tagger for Gristmill instead"
            " (docs/how-to/add-a-tagger.md)"
        )
    if given.get("profile.enable") or given.get("profile.steps"):
        raise RecipeError("profile: not supported; `gristmill try` measures a tagger, and py-spy a run")
    for key in ("documents", "taggers"):
        if not given.get(key):
            raise RecipeError(f"{key}: give at least one, in the configuration or by --{key}")
    processes = given.get("processes", 1)
    if processes < 1:
        raise RecipeError(f"processes: {processes} is less than 1")
    destination = given.get("destination")
    if destination is not None and len(destination) != len(given["documents"]):
        raise RecipeError(
            f"destination: {len(destination)} paths for {len(given['documents'])} entries of documents; give as many"
        )
    experiment = given.get("experiment")
    if experiment is not None and ("/" in experiment or experiment in {"", ".", ".."}):
        raise RecipeError(f"experiment: {experiment!r} is not a name; it becomes the name of a folder")
    return TagConfig(
        documents=tuple(given["documents"]),
        taggers=tuple(dict.fromkeys(given["taggers"])),
        experiment=experiment,
        destination=None if destination is None else tuple(destination),
        processes=1 if given.get("debug") else processes,
        ignore_existing=given.get("ignore_existing", False),
        dryrun=given.get("dryrun", False),
    )


def without_taggers(config: TagConfig, names: Sequence[str]) -> TagConfig:
    """The configuration without some of its taggers, such as those that are not here.

    Args:
        config: configuration as the file has it.
        names: names of the taggers.

    Raises:
        RecipeError: it has no such tagger, or no other.
    """
    for name in names:
        if name not in config.taggers:
            raise RecipeError(f"--leave-out: {name!r} is not one of the taggers {', '.join(config.taggers)}")
    left = tuple(name for name in config.taggers if name not in names)
    if not left:
        raise RecipeError("--leave-out: no tagger is left; leave out fewer")
    return replace(config, taggers=left)


def label_key_from_name(name: str) -> str:
    """A name as a part of a label's key: what is no letter, digit or `_` becomes `_`.

    Args:
        name: name of an experiment, a tagger or a label.

    Raises:
        RecipeError: it begins with a digit, which the toolkit refuses too.

    >>> label_key_from_name("dclm-oh-eli5")
    'dclm_oh_eli5'
    """
    changed = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    if not changed or changed[0].isdigit():
        raise RecipeError(f"{name!r}: a name of an experiment, a tagger or a label begins with a letter")
    return changed
