from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.export import Export

WHOLE = Export(
    name="whole",
    mixes=("pictures",),
    format=EnergonWebdataset(
        parts={"txt": "text"},
        files={"png": "metadata.image"},
        root="media/shapes",
        media_metadata="extension",
        sample_type="CaptioningSample",
        field_map={"image": "jpg,png", "caption": "txt"},
        shard_samples=4,
        subflavors={"version": "12e4"},
    ),
    owners=("team:post",),
)
