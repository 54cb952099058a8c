from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.energon import EnergonWebdataset

TEXT = EnergonWebdataset(parts={"txt": "text"}, sample_type="TextSample", field_map={"text": "txt"})

TARS = Export(name="tars", mixes=("blend",), format=TEXT, owners=("team:post",))
