"""Runs inside an environment that has a peer: how a client is asked. See tests/support/drivers/peer.py."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any


def serve(does: Mapping[str, Callable[[dict[str, Any]], Any]]) -> None:
    """Answers lines of jobs on stdin with lines on stdout; what libraries print goes to stderr."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            answers.write(json.dumps([does[job["do"]](job) for job in json.loads(line)]) + "\n")
            answers.flush()
