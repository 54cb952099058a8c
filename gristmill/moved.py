"""Modules that moved: their former names work until version 0.5, and stand for them in digests of code."""

from importlib import import_module
from typing import Any
from warnings import warn

FORMER = {
    "gristmill.dolma.recipes": "gristmill.recipes.dolma",
    "gristmill.energon.recipes.exports": "gristmill.recipes.export_formats.energon",
    "gristmill.energon.recipes": "gristmill.recipes.energon",
    "gristmill.energon.readers": "gristmill.readers.energon",
}
"""The former name of each package or module that moved and that recipes import, by its present name."""


def former_name(module: str) -> str:
    """The name of a module before it moved; its present name if it has not moved.

    Args:
        module: absolute name of the module.

    >>> former_name("gristmill.dolma.recipes.dolma_mix"), former_name("mill.recipes")
    ('gristmill.recipes.dolma.dolma_mix', 'mill.recipes')
    """
    return next((old + module[len(new) :] for new, old in FORMER.items() if f"{module}.".startswith(f"{new}.")), module)


def moved_name(former: str, name: str) -> Any:
    """A name of a module that moved, for the `__getattr__` of its former place (PEP 562). Warns of the former place.

    Args:
        former: name of the module before it moved.
        name: name of a class or another object of the module.

    Raises:
        AttributeError: the module has no such name.
    """
    new, old = next((new, old) for new, old in FORMER.items() if f"{former}.".startswith(f"{old}."))
    module = new + former[len(old) :]
    found = getattr(import_module(module), name)
    warn(f"{former} goes with version 0.5; import {name} from {module}", DeprecationWarning, 2)
    return found
