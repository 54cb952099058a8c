"""The codec of each format. A new format is a declaration in recipes/export.py, a codec, and a line here."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from gristmill.recipes.export import ExportFormat
from gristmill.stages.export.codec import Codec
from gristmill.stages.export.energon.jsonl import EnergonJsonlCodec
from gristmill.stages.export.energon.webdataset import EnergonWebdatasetCodec
from gristmill.stages.export.oscar import OscarCodec

CODECS: Mapping[str, Callable[[Any], Codec]] = {
    "oscar": OscarCodec,
    "energon-jsonl": EnergonJsonlCodec,
    "energon-webdataset": EnergonWebdatasetCodec,
}


def codec_of(declared: ExportFormat) -> Codec:
    """The codec of a declared format.

    Options that are mappings come in the order of their keys, because the ledger keeps no other: what is made from a
    recipe and what is proven from a ledger then have the same bytes.
    """
    options = {each.name: getattr(declared, each.name) for each in fields(declared)}
    ordered: dict[str, Any] = {
        name: dict(sorted(value.items())) for name, value in options.items() if isinstance(value, Mapping)
    }
    return CODECS[declared.type](replace(declared, **ordered))
