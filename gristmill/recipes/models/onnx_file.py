"""The layout of an ONNX model file: which other files its tensors lie in. The file is walked, and never loaded.

Source: https://github.com/onnx/onnx, `onnx/onnx.proto3`; the form is that of Protocol Buffers.
"""

from collections.abc import Iterator

from gristmill.errors import RecipeError

_MODEL, _GRAPH, _FUNCTION, _NODE, _ATTRIBUTE, _SPARSE, _TENSOR, _ENTRY = range(8)
_GRAPH_FIELD = 7
_INSIDE = {
    _MODEL: {_GRAPH_FIELD: _GRAPH, 25: _FUNCTION},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _FUNCTION: {7: _NODE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {13: _ENTRY},
}
"""By the kind of a message: the numbers of the fields with messages that may hold tensors, and their kinds."""
_KEY, _VALUE = 1, 2
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_DEEPEST = 100  # messages inside each other


def check_onnx(data: bytes, beside: list[str], what: str) -> None:
    """Checks the file of an ONNX model: that it is whole, and reads no file but those that are brought with it.

    Args:
        data: the bytes of the file.
        beside: names of the files in its folder.
        what: its name, for the message.

    Raises:
        RecipeError: it is no ONNX model, is cut off, or has tensors in a file that is not in its folder.
    """
    try:
        outside = sorted(_external_tensor_files(data) - set(beside))
    except _NoModel as error:
        raise RecipeError(f"{what} is no ONNX model: {error}; get it again from its origin") from error
    if outside:
        raise RecipeError(
            f"{what} has tensors in the file {outside[0]!r}, which is not brought with it; name it in sha256=, or save"
            " the model as one file"
        )


class _NoModel(Exception):  # noqa: N818 - the tree reads as English
    """The file is no model; the message says where."""


def _external_tensor_files(data: bytes) -> set[str]:
    """The names of the files that a model's tensors lie in, besides its own."""
    if not any(number == _GRAPH_FIELD for number, _, _ in _message_byte_fields(data, 0, len(data))):
        raise _NoModel("it has no graph")
    return set(_external_tensor_locations(data, 0, len(data), _MODEL, 0))


def _external_tensor_locations(data: bytes, start: int, end: int, kind: int, depth: int) -> Iterator[str]:
    """The names of the files that tensors below a message lie in."""
    if depth > _DEEPEST:
        raise _NoModel(f"more than {_DEEPEST} messages are inside each other")
    if kind == _ENTRY:
        texts = {number: data[first:last] for number, first, last in _message_byte_fields(data, start, end)}
        if texts.get(_KEY) == b"location":
            yield texts.get(_VALUE, b"").decode("utf-8", "replace")
        return
    for number, first, last in _message_byte_fields(data, start, end):
        inside = _INSIDE[kind].get(number)
        if inside is not None:
            yield from _external_tensor_locations(data, first, last, inside, depth + 1)


def _message_byte_fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of a message that hold bytes: their number, and where these begin and end."""
    at = start
    while at < end:
        tag, at = _read_varint(data, at, end)
        number, form = tag >> 3, tag & 7
        if form == _BYTES:
            size, at = _read_varint(data, at, end)
            if size > end - at:
                raise _NoModel(f"byte {at:,} needs {size:,} more bytes, but {end - at:,} are left")
            yield number, at, at + size
            at += size
        elif form == _VARINT:
            _, at = _read_varint(data, at, end)
        elif form in {_EIGHT_BYTES, _FOUR_BYTES}:
            at += 8 if form == _EIGHT_BYTES else 4
        else:
            raise _NoModel(f"byte {at:,} begins a field of an unknown form")
    if at != end:
        raise _NoModel(f"byte {end:,} ends it in the middle of a field")


def _read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    found = 0
    for place in range(at, min(at + 10, end)):
        found |= (data[place] & 0x7F) << 7 * (place - at)
        if data[place] < 0x80:
            return found, place + 1
    raise _NoModel(f"byte {at:,} begins a number that does not end")
