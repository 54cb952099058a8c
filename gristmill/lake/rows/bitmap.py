"""Bitmaps of rows: one flag for each row of a shard, as a short text that a ledger's table can hold."""

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError

_LEVEL = 6


def pack_bits(flags: NDArray[np.bool_]) -> str:
    """The flags as text: packed eight to a byte (the first in the highest bit), zlib (RFC 1950), base64 (RFC 4648).

    Args:
        flags: shape (rows,).

    >>> unpack_bits(pack_bits(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    return base64.b64encode(zlib.compress(np.packbits(flags).tobytes(), _LEVEL)).decode("ascii")


def unpack_bits(text: str, count: int) -> NDArray[np.bool_]:
    """The flags of a text that pack_bits wrote.

    Args:
        text: result of pack_bits.
        count: number of rows of the shard.

    Returns:
        Shape (count,).

    Raises:
        DataError: the text is not a result of pack_bits, or has another number of flags.
    """
    size = (count + 7) // 8
    try:
        packed = base64.b64decode(text, validate=True)
        inflate = zlib.decompressobj()
        data = inflate.decompress(packed, size + 1)  # never more than needed: a wrong text could unpack into gigabytes
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DataError(f"a bitmap of rows cannot be read ({error}); run its asset again") from error
    if len(data) != size or not inflate.eof or inflate.unused_data:
        raise DataError(f"a bitmap of rows does not have {count} flags; run its asset again")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    if bits[count:].any():
        raise DataError(f"a bitmap of rows has more than {count} flags; run its asset again")
    return bits[:count].astype(np.bool_)
