from gristmill.stages.conversion import Source
from gristmill.stages.dolma_lines import DolmaLines

EXAMS = Source(name="exams", description="Token ids and loss weights that others made", convert=DolmaLines("exams"))
