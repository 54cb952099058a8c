"""Sleeping where a test says so, and nowhere else."""

import os
import time
from pathlib import Path


def dawdle() -> None:
    """Sleeps as many seconds as stand in the file that PACE names."""
    pace = os.environ.get("PACE")
    if pace:
        time.sleep(float(Path(pace).read_text()))
