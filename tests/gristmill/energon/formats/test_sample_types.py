"""The sample types of the specification. Real Energon's own classes are compared in tests/real_energon."""

import pytest

from gristmill.energon.formats.sample_types import SAMPLE_TYPES, FieldKind, is_value_of_kind


def test_the_types_of_the_specification_and_what_each_needs() -> None:
    assert {kind.name.removesuffix("Sample"): kind.required_field_names for kind in SAMPLE_TYPES.values()} == {
        "Captioning": ("image", "caption"),
        "Image": ("image",),
        "ImageClassification": ("image",),
        "Interleaved": ("sequence",),
        "MultiChoiceVQA": ("image", "context"),
        "OCR": ("image", "text"),
        "SimilarityInterleaved": ("images", "texts"),
        "Text": ("text",),
        "VidQA": ("video", "context"),
        "VQA": ("image", "context"),
        "VQAOCR": ("image", "context", "text"),
    }


def test_two_types_have_lists_of_media_that_only_a_cooker_can_make() -> None:
    cooked = {kind.name for kind in SAMPLE_TYPES.values() if not kind.by_field_map}
    assert cooked == {"InterleavedSample", "SimilarityInterleavedSample"}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("text", ["", "a"], [1, None, ["a"]]),
        ("texts", [[], ["a", "b"]], ["ab", ["a", 1], None]),
        ("integer", [0, -3], [True, 1.0, "1"]),
        ("integers", [[], [1, 2]], [[1, True], [0.5], 1]),
        ("numbers", [[], [0.5, 1], [[1, 2], [3, 4]]], [1, ["1"], [[True]], [None]]),
        ("classes", [[1, 2], ["a"], []], [["a", 1], "a", [0.5]]),
        ("image", [], ["a.jpg", None, [1]]),
        ("media", [], ["a.jpg", ["a.jpg"]]),
    ],
)
def test_what_a_field_may_hold(kind: FieldKind, good: list[object], bad: list[object]) -> None:
    assert [value for value in good if not is_value_of_kind(kind, value)] == []
    assert [value for value in bad if is_value_of_kind(kind, value)] == []
