"""Documents that have Dolma's form already: put .jsonl.gz, .json.gz, .jsonl.zst or .jsonl files into a snapshot."""

from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import OneToOne, Source

JSONL = Source(
    name="jsonl",
    description="Rows of {id, text, source, ...} as others wrote them, kept byte for byte",
    licence="as the rows' metadata say",
    owners=("team:corpus",),
    convert=DolmaLines(source="jsonl"),
    shards=OneToOne(),
    select=r"(?i)\.jsonl?(\.gz|\.zst|\.zstd)?$",
    snapshots="accumulate",
)
