"""Runs in the environment of datatrove: `python datatrove_minhash.py DOCUMENTS OUT`.

MinHash deduplication with its defaults (5-grams, 14 buckets of 8), its four stages in one process. The last line is
JSON: the cluster of each document that is in one, as [number of the file, row, cluster].
"""

import json
import struct
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Removes near duplicates."""
    documents, out = sys.argv[1:]
    stages = import_module("datatrove.pipeline.dedup.minhash")
    reader = import_module("datatrove.pipeline.readers").JsonlReader
    writer = import_module("datatrove.pipeline.writers").JsonlWriter
    executor = import_module("datatrove.executor.local").LocalPipelineExecutor
    files, config = len(list(Path(documents).iterdir())), stages.MinhashConfig()
    pipelines = [
        ([reader(documents), stages.MinhashDedupSignature(f"{out}/signatures", config=config)], files),
        ([stages.MinhashDedupBuckets(f"{out}/signatures", f"{out}/buckets", config=config)], config.num_buckets),
        ([stages.MinhashDedupCluster(f"{out}/buckets", f"{out}/remove", config=config, save_cluster_id=True)], 1),
        ([reader(documents), stages.MinhashDedupFilter(f"{out}/remove"), writer(f"{out}/kept")], files),
    ]
    for number, (pipeline, tasks) in enumerate(pipelines):
        executor(pipeline=pipeline, tasks=tasks, workers=1, logging_dir=f"{out}/logs/{number}").run()
    print(json.dumps([found for file in sorted(Path(out, "remove").glob("*.clusters")) for found in _clusters(file)]))


def _clusters(file: Path) -> list[tuple[int, int, int]]:
    number, data = int(file.name.partition(".")[0]), file.read_bytes()
    return [(number, row, cluster) for row, cluster in struct.iter_unpack("<2I", data)]


if __name__ == "__main__":
    main()
