"""Races without sleeps: something happens in the lake exactly when a store is called."""

from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest
import xxhash

from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store


def before(store: Store, call: str, path: str, happens: Callable[[], object]) -> None:
    """Lets something happen once, just before the next call of this store about this path.

    Args:
        store: the store of whoever is to be disturbed; other stores of the same lake are not steered.
        call: name of its method.
        path: its first argument, or one of the paths in it.
        happens: what another run does at that moment.
    """
    real = getattr(store, call)
    waiting = [happens]

    def steered(first: Any, *rest: Any, **named: Any) -> Any:
        paths = [first] if isinstance(first, str) else list(first)
        if path in paths and waiting:
            Context().run(waiting.pop())  # another process, which no fence of this one holds back
        return real(first if isinstance(first, str) else paths, *rest, **named)

    setattr(store, call, steered)


def before_any(patch: pytest.MonkeyPatch, call: str, path: str, happens: Callable[[], object]) -> None:
    """The same for every store of a lake in a folder: for code that opens its own."""
    real = getattr(FolderStore, call)
    waiting = [happens]

    def steered(store: FolderStore, first: Any, *rest: Any, **named: Any) -> Any:
        if first == path and waiting:
            Context().run(waiting.pop())  # another process, which no fence of this one holds back
        return real(store, first, *rest, **named)

    patch.setattr(FolderStore, call, steered)


def collide(patch: pytest.MonkeyPatch) -> None:
    """From now on the upper halves of all hashes of ids are alike, as two ids in 10^19 are by chance."""
    digest, number = xxhash.xxh3_128_digest, xxhash.xxh3_128_intdigest
    patch.setattr(xxhash, "xxh3_128_digest", lambda data: bytes(8) + digest(data)[8:])
    patch.setattr(xxhash, "xxh3_128_intdigest", lambda data: number(data) & (2**64 - 1))
