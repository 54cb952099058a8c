from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonJsonl

LINES = Export(name="lines", mixes=("walk",), format=EnergonJsonl(file_bytes=1_000_000))
