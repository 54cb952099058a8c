from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.export import Export

CRUDE = Export(
    name="crude",
    mixes=("pictures",),
    format=EnergonWebdataset(parts={"txt": "text", "json": "metadata"}, media=("metadata.image",), key="id"),
    owners=("team:post",),
)
