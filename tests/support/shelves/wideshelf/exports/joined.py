from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonJsonl

JOINED = Export(name="joined", mixes=("shares",), format=EnergonJsonl(file_bytes=4000, tokenizer="tiny-1"))
