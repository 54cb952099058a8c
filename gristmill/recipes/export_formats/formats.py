"""The formats of exports: those that ship, and those of installed packages. Each is found by its name."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.ledger.code import Code
from gristmill.plugins import Door
from gristmill.recipes.code.digest import WithCode, code_of_plugin
from gristmill.recipes.export_formats.codec import Codec
from gristmill.recipes.export_formats.options import ExportFormat


def _is_codec(name: str, found: Any) -> bool:
    """Whether an object is the class of the codec of a format of this name."""
    options = getattr(found, "options", None) if isinstance(found, type) and issubclass(found, Codec) else None
    return isinstance(options, type) and issubclass(options, ExportFormat) and options.type == name


EXPORTS = Door[type[Codec]](
    "exports", "a class below Codec whose `options` are a class below ExportFormat with `type` as its name", _is_codec
)
"""The codec of each format, by its name."""


def known_formats() -> dict[str, type[ExportFormat]]:
    """The options of each format that can be loaded, by its name."""
    found: dict[str, type[ExportFormat]] = {}
    for plugin in EXPORTS.plugins:
        with suppress(RecipeError):
            found[plugin.name] = EXPORTS.open(plugin).options
    return found


def codec_of_format(declared: ExportFormat) -> Codec:
    """The codec of a declared format.

    Options that are mappings come in the order of their keys, because the ledger keeps no other: what is made from a
    recipe and what is proven from a ledger then have the same bytes.

    Raises:
        RecipeError: no installed package has a codec for it, or the codec cannot be loaded.
    """
    kind = EXPORTS.load(declared.type)
    if kind.options is not type(declared):
        raise RecipeError(f"format {declared.type!r}: {type(declared)} are not the options of {kind}")
    return kind(_order_keys(declared))


def code_of_format(declared: ExportFormat, recipe: WithCode | None = None) -> Code:
    """The code of the codec of a format that a plug-in adds. It is unknown for formats that ship.

    Args:
        declared: the options of the format.
        recipe: the export that declares them; None where nobody asks why its code gives the same output.
    """
    return code_of_plugin(EXPORTS.load(declared.type), recipe)


def _order_keys(declared: Any) -> Any:
    options = {each.name: getattr(declared, each.name) for each in fields(declared)}
    return replace(declared, **{k: dict(sorted(v.items())) for k, v in options.items() if isinstance(v, Mapping)})


def format_of_parameters(parameters: Mapping[str, Any]) -> ExportFormat:
    """The format that format_parameters() made JSON of. Options that are not recorded have their defaults.

    Raises:
        RecipeError: no installed package has a format of this name, or it does not have these options.
    """
    options: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in parameters.items() if key != "type"
    }
    kind = EXPORTS.load(str(parameters.get("type"))).options
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # see ExportFormat
    if not options.keys() <= set(known):
        raise RecipeError(
            f"no format of exports has the options {dict(parameters)}; {kind.__name__} has {', '.join(known)}"
        )
    return kind(**options)
