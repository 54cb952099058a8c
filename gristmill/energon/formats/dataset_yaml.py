"""The file `.nv-meta/dataset.yaml`: how the loader makes samples of the parts.

A crude dataset leaves that to the trainer's code. A typed one names a class of samples and maps its fields to parts.

Source: NVIDIA/Megatron-Energon 7.4.1.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from gristmill.errors import RecipeError
from gristmill.formats.yaml_text import yaml_bytes

DATASET_YAML: Final = "dataset.yaml"
"""The name of the file in `.nv-meta`."""
ENERGON: Final = "megatron.energon"
"""The module of energon's own classes."""

_MODULE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def class_entry(name: str, module: str = ENERGON) -> dict[str, str]:
    """The form in which these files name a class.

    Args:
        name: name of the class.
        module: name of the module that has the class.

    Raises:
        RecipeError: one of them is not a Python name.

    >>> class_entry("TextSample")
    {'__module__': 'megatron.energon', '__class__': 'TextSample'}
    """
    if not name.isidentifier() or not _MODULE.fullmatch(module):
        raise RecipeError(f"class {name!r} of module {module!r}: give the names of a Python class and of its module")
    return {"__module__": module, "__class__": name}


def crude_dataset(subflavors: Mapping[str, Any] | None = None) -> bytes:
    """The file of a crude dataset.

    Args:
        subflavors: values that every sample is to carry; None or empty: nothing.

    >>> print(crude_dataset().decode(), end="")
    __module__: "megatron.energon"
    __class__: "CrudeWebdataset"
    """
    return yaml_bytes(class_entry("CrudeWebdataset") | _subflavor_entry(subflavors))


def typed_dataset(
    sample_class: str,
    field_map: Mapping[str, str],
    *,
    module: str = ENERGON,
    subflavors: Mapping[str, Any] | None = None,
) -> bytes:
    """The file of a dataset with a field map.

    Args:
        sample_class: name of the class of samples, such as `TextSample`.
        field_map: the part of each field: `jpg`, `json[caption]`, or alternatives `jpg,png`.
        module: module of the class; one's own class has another than energon's.
        subflavors: values that every sample is to carry, as for `crude_dataset`.

    Raises:
        RecipeError: the class or the module is not a Python name.

    >>> print(typed_dataset("TextSample", {"text": "json[text]"}).decode(), end="")
    sample_type:
      __module__: "megatron.energon"
      __class__: "TextSample"
    field_map:
      text: "json[text]"
    """
    entry = {"sample_type": class_entry(sample_class, module), "field_map": dict(field_map)}
    return yaml_bytes(entry | _subflavor_entry(subflavors))


def _subflavor_entry(subflavors: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"subflavors": dict(subflavors)} if subflavors else {}
