from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Hashed, Source

TALKS = Source(
    name="talks",
    description="Conversations, an edition a year",
    convert=DolmaLines("talks"),
    shards=Hashed(2),
    snapshots="replace",
)
