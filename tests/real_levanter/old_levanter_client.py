"""Runs inside an environment that has Levanter as it was before Marin took it over, and answers jobs.

Jobs: {"do": "read", "cache", "fields": {name: dtype}}: the rows of a consolidated cache.
"""

import asyncio
from importlib import import_module
from typing import Any

import numpy as np


def read(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows, field by field."""
    exemplar = {name: np.zeros(0, dtype) for name, dtype in job["fields"].items()}
    cache = import_module("levanter.store.cache").TreeCache.load(job["cache"], exemplar)
    rows = cache.get_batch_sync(list(range(asyncio.run(cache.async_len()))))
    return [{name: np.asarray(row[name]).tolist() for name in exemplar} for row in rows]


if __name__ == "__main__":
    import_module("answering").serve({"read": lambda job: {"rows": read(job)}})
