"""Small ONNX classifiers, written by hand: the logits of a text are the means of its tokens' rows in a table."""

import struct
from collections.abc import Sequence

FLOAT, INT64 = 1, 7  # TensorProto.DataType


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def classifier(
    table: Sequence[Sequence[float]], *, inputs: Sequence[str] = ("input_ids",), outside: str | None = None
) -> bytes:
    """The file of a model with a row for each token, and a column for each label.

    Args:
        table: the rows.
        inputs: names of the inputs; only the first is used.
        outside: the file that the table lies in; None: it lies in the model itself.
    """
    dims = number(1, len(table)) + number(1, len(table[0]))
    values = b"".join(struct.pack("<f", each) for row in table for each in row)
    here = block(9, values)
    if outside is not None:
        here = block(13, block(1, "location") + block(2, outside)) + number(14, 1)
    axes = block(5, block(1, "axes") + number(8, 1) + number(20, 7)) + block(5, block(1, "keepdims") + number(20, 2))
    graph = (
        block(1, block(1, "table") + block(1, inputs[0]) + block(2, "rows") + block(4, "Gather"))
        + block(1, block(1, "rows") + block(2, "logits") + block(4, "ReduceMean") + axes)
        + block(2, "mill")
        + block(5, dims + number(2, FLOAT) + block(8, "table") + here)
        + b"".join(block(11, tensor(name, INT64, ("texts", "tokens"))) for name in inputs)
        + block(12, tensor("logits", FLOAT, ("texts", len(table[0]))))
    )
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 13))


def tensor(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    """The declaration of an input or an output."""
    dims = b"".join(block(1, number(1, each) if isinstance(each, int) else block(2, each)) for each in shape)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, dims)))
