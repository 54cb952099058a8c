from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.recipes.export import Export

TARS = Export(
    name="tars",
    mixes=("pictures",),
    format=EnergonJsonl(
        fields={"caption": "text", "image": "metadata.image"},
        media=("metadata.image",),
        root="media/tars",
        aux={"media": "../../../../media/tars"},
        file_bytes=1000,
    ),
    owners=("team:post",),
)
