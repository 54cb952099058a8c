"""Runs in the real Energon's environment: indexes a folder of tars or a JSONL file, and tells its CPU seconds.

`python real_prepare.py tars|lines|media PATH`. Imports are not counted; the processes that it starts are.
"""

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path


def spent() -> float:
    """CPU seconds of this process and of the ended ones that it started."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    flavors = "megatron.energon.flavors"  # of the peer's environment, so not imported by name
    epath = import_module("megatron.energon.epathlib").EPath
    media = import_module("megatron.energon.media.filesystem_prepare").prepare_filesystem_dataset
    by_ending = import_module("megatron.energon.media.extractor").MediaFilterConfig.parse(
        None, header=False, extension=True
    )
    lines = import_module(f"{flavors}.jsonl.jsonl_prepare").JsonlPreparator
    tars = import_module(f"{flavors}.webdataset.prepare").WebdatasetPreparator

    kind, path = sys.argv[1], Path(sys.argv[2])
    cpu, wall = spent(), time.perf_counter()
    if kind == "tars":
        names = sorted(str(tar.relative_to(path)) for tar in path.glob("**/*.tar"))
        tars.prepare_dataset(path, names, split_parts_ratio=[("train", 1.0)], shuffle_seed=None, workers=2)
    elif kind == "media" and (path / ".nv-meta" / ".info.json").exists():
        tars.add_media_metadata(epath(path), media_filter=by_ending, workers=1)
    elif kind == "media":
        media(epath(path), by_ending, progress=False, workers=1)
    else:
        lines.prepare_dataset(epath(path))
    print(json.dumps({"cpu_s": spent() - cpu, "wall_s": time.perf_counter() - wall}))


if __name__ == "__main__":
    main()
