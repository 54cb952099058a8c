"""Part of levanter_client.py: packs documents and makes examples, as its trainer would.

Jobs: {"do": "pack", "lengths": {field: [...]}, "length", "segments", "slice"}: [first, behind the last] of each
      example, or the error's words
      {"do": "examples", "cache", "fields": {name: dtype}, "type", "options", "pack", "length", "eos", "block"}: tokens,
      loss weights, segments and types of all examples of a cache
"""

from importlib import import_module
from typing import Any

import numpy as np

Job = dict[str, Any]
FORMATS = {"text": "TextLmDatasetFormat", "chat": "ChatLmDatasetFormat", "prebuilt": "PrebuiltLmDatasetFormat"}


def pack(job: Job) -> Job:
    """Which documents share an example."""
    packing = import_module("levanter.data.packing")
    lengths = {field: np.array(numbers, np.int64) for field, numbers in job["lengths"].items()}
    try:
        packs = packing.pack_documents(lengths, job["length"], job["segments"], slice_strategy=job["slice"])
    except ValueError as error:
        return {"error": str(error)}
    return {"packs": [[each.start, each.stop] for each in packs]}


def examples(job: Job) -> Job:
    """Everything that a model is given of a cache."""
    store = import_module("levanter.store.cache")
    datasets = import_module("levanter.data.text.datasets")
    formats = import_module("levanter.data.text.formats")
    axis = import_module("haliax").Axis
    wait = import_module("levanter.utils.thread_utils").blocking_wait
    exemplar = {field: np.zeros(0, dtype) for field, dtype in job["fields"].items()}
    cache = store.TreeCache.load(job["cache"], exemplar)
    form = getattr(formats, FORMATS[job["type"]])(**job["options"])
    try:
        dataset = datasets.dataset_for_component(
            datasets.DatasetComponent(format=form, pack=job["pack"]),
            axis("position", job["length"]),
            cache,
            eos_id=job["eos"],
            block_cross_document_attention=job["block"],
        )
    except ValueError as error:
        return {"error": str(error)}
    count = wait(dataset.async_len())
    found = wait(dataset.get_batch(list(range(count)))) if count else []
    return {"examples": [shown(each) for each in found]}


def shown(example: Any) -> Job:
    """One example as lists, with the names of its types."""
    segments = example.attn_mask.segment_ids
    if segments is not None:
        queries, keys = (np.asarray(each) for each in segments)
        if not np.array_equal(queries, keys):
            raise ValueError("queries and keys have other segments")
        segments = queries
    tokens, weights = np.asarray(example.tokens), np.asarray(example.loss_weight)
    return {
        "tokens": tokens.tolist(),
        "loss": weights.tolist(),
        "segments": None if segments is None else segments.tolist(),
        "types": [str(tokens.dtype), str(weights.dtype), None if segments is None else str(segments.dtype)],
    }
