"""Reads the media of a dataset as `gristmill energon prepare-media` does, and tells the CPU seconds.

`python -m bench.energon.our_media prepare|media PATH`: `prepare` only makes a prepared dataset of a folder of tars.
"""

import json
import sys
import time

from bench.energon.real_prepare import spent
from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.formats.media import MediaFilter, media_row
from gristmill.energon.preparing.dataset import is_prepared, open_dataset
from gristmill.energon.preparing.media import add_file_media, add_tar_media
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars

WORKERS = 1


def main() -> None:
    dataset = open_dataset(sys.argv[2], {})
    if sys.argv[1] == "media":
        for kind in ("image", "av"):  # the libraries are imported before the clock starts
            try:
                media_row("a", kind, b"")
            except Exception:  # noqa: BLE001, S112 - an empty file is no media
                continue
    cpu, wall = spent(), time.perf_counter()
    if sys.argv[1] == "prepare":
        prepare_tars(dataset, PrepareOptions(ratio={"train": 1}), crude_dataset(), lambda _: None)
    else:
        add = add_tar_media if is_prepared(dataset.open_dataset_store()) else add_file_media
        add(dataset, MediaFilter("EXTENSION"), WORKERS, None)
    print(json.dumps({"cpu_s": spent() - cpu, "wall_s": time.perf_counter() - wall}))


if __name__ == "__main__":
    main()
