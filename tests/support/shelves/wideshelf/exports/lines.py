from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonJsonl

LINES = Export(name="lines", mixes=("reading",), format=EnergonJsonl(subflavors={"kind": "lines"}))
