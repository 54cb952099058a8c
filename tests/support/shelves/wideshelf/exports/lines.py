from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

LINES = Export(name="lines", mixes=("reading",), format=EnergonJsonl(subflavors={"kind": "lines"}))
