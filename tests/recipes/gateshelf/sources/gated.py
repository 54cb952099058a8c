from gristmill.stages.conversion import Source
from gristmill.stages.dolma_lines import DolmaLines

GATED = Source(name="gated", convert=DolmaLines("gated"))
