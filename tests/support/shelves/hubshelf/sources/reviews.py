"""A dataset's folder as the Hub holds it, in CSV, with a folder for each language."""

from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.hugging_face import data_files
from gristmill.recipes.source import Source

REVIEWS = Source(
    name="reviews",
    convert=DelimitedRows(source="reviews", id_key="number", text_keys=("review",)),
    select=data_files("train", config="en"),
)
