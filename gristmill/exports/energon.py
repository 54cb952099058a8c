"""The starter mix for Megatron-Energon: a sample for each text, in tars."""

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.export import Export

ENERGON = Export(
    name="energon",
    mixes=("starter",),
    description="Texts of the starter mix, drawn by the weights of its streams",
    owners=("team:corpus",),
    format=EnergonWebdataset(parts={"txt": "text"}, sample_type="TextSample", field_map={"text": "txt"}),
)
