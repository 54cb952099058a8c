"""Root reads what it may not. Without this power a test of modes holds for root, also in a folder that is private."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
"""Of Linux's structures of capabilities: two halves of 32 bits."""
_MODES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: with them, modes of files are not asked."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Half(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def held_to_modes() -> Iterator[None]:
    """Holds this thread to the modes of files, as any user is. It stays the owner of its files."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, halves = _Header(_VERSION, 0), (_Half * 2)()
    assert libc.capget(ctypes.byref(header), halves) == 0
    before = halves[0].effective
    halves[0].effective = before & ~_MODES
    assert libc.capset(ctypes.byref(header), halves) == 0
    try:
        yield
    finally:
        halves[0].effective = before
        assert libc.capset(ctypes.byref(header), halves) == 0
