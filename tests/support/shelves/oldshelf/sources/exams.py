from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

EXAMS = Source(name="exams", description="Token ids and loss weights that others made", convert=DolmaLines("exams"))
