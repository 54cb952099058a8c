from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

JOINED = Export(name="joined", mixes=("shares",), format=EnergonJsonl(file_bytes=4000, tokenizer="tiny-1"))
