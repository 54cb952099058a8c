"""The codec of each format. A new format is a declaration in recipes/export.py, a codec, and a line here."""

from collections.abc import Callable, Mapping
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
    """The codec of a declared format."""
    return CODECS[declared.type](declared)
