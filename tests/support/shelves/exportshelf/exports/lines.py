from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

LINES = Export(name="lines", mixes=("blend",), format=EnergonJsonl(file_bytes=1_000_000), owners=("team:post",))
