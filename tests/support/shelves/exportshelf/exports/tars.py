from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.recipes.export import Export

TEXT = EnergonWebdataset(parts={"txt": "text"}, sample_type="TextSample", field_map={"text": "txt"})

TARS = Export(name="tars", mixes=("blend",), format=TEXT, owners=("team:post",))
