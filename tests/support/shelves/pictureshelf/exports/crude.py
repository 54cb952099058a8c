from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonWebdataset

CRUDE = Export(
    name="crude",
    mixes=("pictures",),
    format=EnergonWebdataset(parts={"txt": "text", "json": "metadata"}, media=("metadata.image",), key="id"),
    owners=("team:post",),
)
