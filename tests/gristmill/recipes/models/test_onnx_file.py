import pytest
from onnxfile import block, classifier, number

from gristmill.errors import RecipeError
from gristmill.recipes.models.onnx_file import check_onnx

WHOLE = classifier([[1.0, 2.0]])


def test_a_whole_file_is_taken() -> None:
    check_onnx(WHOLE, ["model.onnx"], "mill-1")
    check_onnx(classifier([[1.0]], outside="weights.bin"), ["model.onnx", "weights.bin"], "mill-1")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "weights.bin"])
def test_tensors_in_a_file_that_is_not_brought_are_refused(name: str) -> None:
    with pytest.raises(RecipeError, match=f"mill-1 has tensors in the file '{name}', which is not brought"):
        check_onnx(classifier([[1.0]], outside=name), ["model.onnx"], "mill-1")


def test_tensors_of_an_inner_graph_are_found() -> None:
    external = block(13, block(1, "location") + block(2, "x.bin"))
    inner = block(6, block(1, block(5, block(5, external))))  # a graph, in it a node's attribute with a tensor
    with pytest.raises(RecipeError, match=r"'x\.bin'"):
        check_onnx(block(7, block(1, block(5, inner))), [], "mill-1")


def test_a_file_cut_anywhere_is_refused() -> None:
    inside = WHOLE.index(b"mill")
    for size in range(inside, inside + 20):
        with pytest.raises(RecipeError, match=r"mill-1 is no ONNX model: byte .* needs .* more bytes"):
            check_onnx(WHOLE[:size], [], "mill-1")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x80\x04pickle", b"\xff" * 20, number(1, 8), b"\x0b"])
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(RecipeError, match="mill-1 is no ONNX model: "):
        check_onnx(data, [], "mill-1")


def test_messages_inside_each_other_are_bounded() -> None:
    data = b""
    for _ in range(60):
        data = block(1, block(5, block(6, data)))  # a graph's node has an attribute with a graph
    with pytest.raises(RecipeError, match="more than 100 messages are inside each other"):
        check_onnx(block(7, data), [], "mill-1")
