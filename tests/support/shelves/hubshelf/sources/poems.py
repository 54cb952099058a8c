"""A dataset's folder as the Hub holds it, in parquet; its licence is that of the card."""

from gristmill.readers.hugging_face import data_files
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.source import Source

POEMS = Source(
    name="poems",
    convert=ParquetRows(source="poems", id_template="{book}/{n}"),
    select=data_files("train"),
    licence="CC0-1.0",
)
