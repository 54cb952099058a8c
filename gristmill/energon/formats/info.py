"""The file `.nv-meta/.info.json`: the shards of a dataset, and how many samples each has.

The loader takes a folder with this file for a dataset. The position of a shard in it is its `tar_file_id` in the index.

Source: NVIDIA/Megatron-Energon 7.4.1, which refuses other fields in this file.
"""

import json
from collections.abc import Mapping
from typing import Final

import msgspec

from gristmill.errors import DataError

META_FOLDER: Final = ".nv-meta"
"""The folder of a dataset's own files."""
INFO: Final = ".info.json"
"""The name of the file; it is written last."""
TOOL_VERSION: Final = "7.4.1"
"""The release of energon whose files these are."""


class _Info(msgspec.Struct, forbid_unknown_fields=True):
    shard_counts: dict[str, int]
    energon_version: str | None = None


def info_bytes(counts: Mapping[str, int], version: str = TOOL_VERSION) -> bytes:
    """The file, as the real tool writes it.

    Args:
        counts: samples of each shard, in the order of their ids; names relative to the dataset.
        version: version of energon.

    >>> print(info_bytes({"shards/0.tar": 4}).decode())
    {
      "energon_version": "7.4.1",
      "shard_counts": {
        "shards/0.tar": 4
      }
    }
    """
    return json.dumps({"energon_version": version, "shard_counts": dict(counts)}, indent=2).encode()


def read_info(data: bytes, where: str) -> dict[str, int]:
    """The samples of each shard, in the order of their ids.

    Args:
        data: content of the file.
        where: its path, for messages.

    Raises:
        DataError: it is wrong, has a field that energon refuses, or a count below 0.

    >>> read_info(info_bytes({"b.tar": 1, "a.tar": 2}), ".info.json")
    {'b.tar': 1, 'a.tar': 2}
    """
    try:
        counts = msgspec.json.decode(data, type=_Info).shard_counts
    except msgspec.DecodeError as error:
        raise DataError(f"{where}: not a valid {INFO}: {error}; prepare the dataset again") from error
    low = [name for name, count in counts.items() if count < 0]
    if low:
        raise DataError(f"{where}: shard {low[0]!r} has {counts[low[0]]} samples; prepare the dataset again")
    return counts


def is_tar(path: str) -> bool:
    """Whether a path is that of a shard. Hidden files, and files in hidden folders, are no shards, as in the real tool.

    >>> is_tar("shards/a.tar"), is_tar("shards/a.tar.idx"), is_tar("shards/.a.tar")
    (True, False, False)
    """
    return path.endswith(".tar") and not is_hidden(path)


def is_hidden(path: str) -> bool:
    """Whether a name in a path begins with a dot.

    >>> is_hidden(".ipynb_checkpoints/a.tar"), is_hidden("a/b.tar")
    (True, False)
    """
    return "/." in f"/{path}"
