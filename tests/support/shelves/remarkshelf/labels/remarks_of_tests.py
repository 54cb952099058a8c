from remarks import PATH, SHA256

from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.models.labelled_set import LabelledSet

REMARKS = LabelledSet(
    name="remarks", file=f"lake:{PATH}", sha256=SHA256, read=JsonLines(source="remarks", id_key=None), held_out=0.3
)
