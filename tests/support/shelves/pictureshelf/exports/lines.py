from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

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
