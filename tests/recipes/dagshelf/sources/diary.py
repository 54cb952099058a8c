from gristmill.stages.conversion import Source
from gristmill.stages.dolma_lines import DolmaLines

DIARY = Source(name="diary", convert=DolmaLines("diary"), snapshots="replace")
