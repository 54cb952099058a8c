"""The codec of each format. A new format is a declaration in recipes/export.py, a codec, and a line here."""

from gristmill.recipes.export import ExportFormat
from gristmill.stages.export.codec import Codec
from gristmill.stages.export.oscar import OscarCodec

CODECS = {"oscar": OscarCodec}


def codec_of(declared: ExportFormat) -> Codec:
    """The codec of a declared format."""
    return CODECS[declared.type](declared)
