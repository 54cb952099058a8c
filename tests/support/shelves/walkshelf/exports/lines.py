from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

LINES = Export(name="lines", mixes=("walk",), format=EnergonJsonl(file_bytes=1_000_000))
