from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.export import Export

TARS = Export(
    name="tars",
    mixes=("reading",),
    format=EnergonWebdataset(
        parts={"txt": "text"},
        files={"png": "metadata.picture"},
        root="media",
        media_metadata="extension",
        sample_type="CaptioningSample",
        field_map={"image": "png", "caption": "txt"},
        shard_samples=4,
        subflavors={"version": "12e4"},
    ),
)
