"""The CPU time of a call, without what other tests left in this process."""

import gc
import time
from collections.abc import Callable


def cpu_seconds(do: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of a call: the least of several.

    The collector does not run meanwhile: it would walk every object that earlier tests left, about half a second.

    Args:
        do: what is called.
        times: how often.
    """
    took = []
    gc.disable()
    try:
        for _ in range(times):
            began = time.process_time()
            do()
            took.append(time.process_time() - began)
    finally:
        gc.enable()
    return min(took)
