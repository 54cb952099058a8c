from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonJsonl

LINES = Export(
    name="lines",
    mixes=("pictures",),
    format=EnergonJsonl(
        fields={"caption": "text", "image": "metadata.image"},
        media=("metadata.image",),
        root="media/shapes/",
        aux={"media": "filesystem://../../../../media/shapes"},
    ),
    owners=("team:post",),
)
