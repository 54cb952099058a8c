"""Which objects a partition may own. Names that are read from a file of the lake delete and publish nothing else."""

from gristmill.errors import StoreError
from gristmill.lake.address import Place
from gristmill.lake.store.protocol import check_path


def is_in_partition_folders(place: Place, path: str) -> bool:
    """Whether an object lies in the folders of a partition: its shards, parts, id indexes and refused rows.

    >>> from gristmill.lake.address import place
    >>> pages = place("sources/pages/v0/documents", "2024")
    >>> is_in_partition_folders(pages, "sources/pages/v0/documents/2024/a.jsonl.gz")
    True
    >>> is_in_partition_folders(pages, "sources/pages/v0/documents/2024/../../raw/2024/a.jsonl.gz")
    False
    """
    try:
        check_path(path)
    except StoreError:
        return False
    return path.startswith(place.folders)
