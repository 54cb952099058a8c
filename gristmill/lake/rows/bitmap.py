"""Row sets: a yes or no for each row of a shard, as a short text that a ledger's table can hold."""

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError

_LEVEL = 6


def pack_bits(flags: NDArray[np.bool_]) -> str:
    """One flag a row as text: eight rows a byte, the first in the highest bit; zlib (RFC 1950); base64 (RFC 4648).

    Args:
        flags: shape (rows,).
    """
    return base64.b64encode(zlib.compress(np.packbits(flags).tobytes(), _LEVEL)).decode("ascii")


def unpack_bits(text: str, count: int) -> NDArray[np.bool_]:
    """The inverse of pack_bits: shape (count,).

    Args:
        text: as pack_bits wrote it.
        count: how many rows the shard has.

    Raises:
        DataError: the text is none of pack_bits', or is about another number of rows.
    """
    size = (count + 7) // 8
    try:
        packed = base64.b64decode(text, validate=True)
        inflate = zlib.decompressobj()
        data = inflate.decompress(packed, size + 1)  # no more than is right, whatever the text would unpack into
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DataError(f"a row set that cannot be read ({error}); run its asset again") from error
    if len(data) != size or not inflate.eof or inflate.unused_data:
        raise DataError(f"a row set that is not about {count} rows; run its asset again")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    if bits[count:].any():
        raise DataError(f"a row set that is about more than {count} rows; run its asset again")
    return bits[:count].astype(np.bool_)
