from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.raw_object import RawObject


@pytest.fixture
def raw_object(tmp_path: Path) -> Callable[[str, bytes], RawObject]:
    """Makes a raw object of a name and bytes, in a folder."""
    store = FolderStore(str(tmp_path / "raw"))

    def make(name: str, data: bytes) -> RawObject:
        store.put(name, data)
        return RawObject(store, name, name, len(data))

    return make
