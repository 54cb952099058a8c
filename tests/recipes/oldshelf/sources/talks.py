from gristmill.stages.conversion import Hashed, Source
from gristmill.stages.dolma_lines import DolmaLines

TALKS = Source(
    name="talks",
    description="Conversations, an edition a year",
    convert=DolmaLines("talks"),
    shards=Hashed(2),
    snapshots="replace",
)
