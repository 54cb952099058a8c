"""The sample types of Energon: the fields of each, and what a field holds.

Source: megatron-energon 7.4.1, `flavors/*.py`. A dataset with a field map names one of them in its `dataset.yaml`.
Others are datasets of crude samples: all parts go to a function of the trainer's own, the cooker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gristmill.errors import RecipeError, known_names

FieldKind = Literal["text", "texts", "integer", "integers", "numbers", "classes", "image", "video", "media"]
"""What a field holds: `numbers` is a tensor, a list of numbers or lists of them. `classes` are numbers or texts.
`media` is a list of images, sounds, videos or texts: no field map can make one of several parts."""

CRUDE: Final = "CrudeWebdataset"
"""The name of the real tool for samples without a type."""


@dataclass(frozen=True)
class SampleField:
    """A field of a sample type.

    Attributes:
        name: name as the trainer's code calls it.
        kind: kind of the field's values.
        required: whether a sample without it cannot be made.
    """

    name: str
    kind: FieldKind
    required: bool = False


@dataclass(frozen=True)
class SampleType:
    """A type of samples.

    Attributes:
        name: name of the class, such as `CaptioningSample`.
        module: name of the module in which Energon 7.4.1 has the class.
        fields: fields in the order of the class.
        home: the module whose file declares the class.
    """

    name: str
    module: str
    fields: tuple[SampleField, ...]
    home: str

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that have the class.

        >>> sample_type("TextSample").modules
        ('megatron.energon', 'megatron.energon.flavors', 'megatron.energon.flavors.text')
        """
        return (self.home,) if self.module == self.home else (self.module, _FLAVORS, self.home)

    @property
    def required_field_names(self) -> tuple[str, ...]:
        """The names of the fields that every sample has."""
        return tuple(each.name for each in self.fields if each.required)

    @property
    def by_field_map(self) -> bool:
        """Whether a field map can make all required fields. If not, the samples are crude, and a cooker makes them."""
        return not any(each.kind == "media" for each in self.fields if each.required)

    def field(self, name: str) -> SampleField:
        """The field of this name.

        Raises:
            RecipeError: it has no such field.

        >>> sample_type("TextSample").field("test")
        Traceback (most recent call last):
            ...
        gristmill.errors.RecipeError: TextSample has no field 'test'; did you mean 'text'? known: text
        """
        for each in self.fields:
            if each.name == name:
                return each
        raise RecipeError(f"{self.name} has no field {name!r}; {known_names(name, (one.name for one in self.fields))}")


_FLAVORS = "megatron.energon.flavors"


def _sample_type_from_words(name: str, fields: str, file: str, module: str = "megatron.energon") -> SampleType:
    """A type from words such as `image:image!`: name and kind; an exclamation mark for required fields."""
    kinds: dict[str, FieldKind] = {
        "text": "text", "texts": "texts", "integer": "integer", "integers": "integers", "numbers": "numbers",
        "classes": "classes", "image": "image", "video": "video", "media": "media",
    }  # fmt: skip
    found = []
    for word in fields.split():
        field, kind = word.rstrip("!").split(":")
        found.append(SampleField(field, kinds[kind], word.endswith("!")))
    return SampleType(name, module, tuple(found), f"{_FLAVORS}.{file}")


_TYPES = (
    _sample_type_from_words("CaptioningSample", "image:image! caption:text!", "captioning"),
    _sample_type_from_words("ImageSample", "image:image!", "image"),
    _sample_type_from_words(
        "ImageClassificationSample", "image:image! label:integer label_name:text", "image_classification"
    ),
    _sample_type_from_words("InterleavedSample", "sequence:media!", "interleaved"),
    _sample_type_from_words(
        "MultiChoiceVQASample", "image:image! context:text! choices:texts correct_choice_idx:integer", "multichoice_vqa"
    ),
    _sample_type_from_words(
        "OCRSample",
        "image:image! text:text! block_boxes:numbers block_classes:classes block_text:texts lines_boxes:numbers "
        "lines_text:texts words_boxes:numbers words_text:texts chars_boxes:numbers chars_text:texts",
        "ocr",
    ),
    _sample_type_from_words(
        "SimilarityInterleavedSample",
        "images:media! texts:texts! audio:media video:media similarity_matrix:numbers matched_text_indices:integers",
        "similarity_interleaved",
    ),
    _sample_type_from_words("TextSample", "text:text!", "text"),
    _sample_type_from_words("VidQASample", "video:video! context:text! answers:texts answer_weights:numbers", "vid_qa"),
    _sample_type_from_words("VQASample", "image:image! context:text! answers:texts answer_weights:numbers", "vqa"),
    _sample_type_from_words(
        "VQAOCRSample",
        "image:image! context:text! text:text! answers:texts answer_weights:numbers words_boxes:numbers "
        "words_text:texts",
        "vqa_and_ocr",
        f"{_FLAVORS}.vqa_and_ocr",  # the one type that the package does not list beside the others
    ),
)

SAMPLE_TYPES: Final[Mapping[str, SampleType]] = {each.name: each for each in _TYPES}
"""All sample types of Energon, by the name of the class."""


def sample_type(name: str) -> SampleType:
    """The sample type of this name.

    Raises:
        RecipeError: Energon has no such type.

    >>> sample_type("CaptioningSample").required_field_names
    ('image', 'caption')
    >>> sample_type("VQAOCRSample").module
    'megatron.energon.flavors.vqa_and_ocr'
    >>> sample_type("CaptionSample")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: Energon has no sample type 'CaptionSample'; did you mean 'CaptioningSample'? known: \
CaptioningSample, ImageSample, ImageClassificationSample, InterleavedSample, MultiChoiceVQASample, OCRSample, \
SimilarityInterleavedSample, TextSample, VidQASample, VQASample, VQAOCRSample
    """
    if name not in SAMPLE_TYPES:
        raise RecipeError(f"Energon has no sample type {name!r}; {known_names(name, SAMPLE_TYPES)}")
    return SAMPLE_TYPES[name]


def is_value_of_kind(kind: FieldKind, value: object) -> bool:
    """Whether a JSON value may be what a field of this kind holds. Images, videos and other media are no JSON values.

    Args:
        kind: kind of the field.
        value: value from JSON.

    >>> values = [("numbers", [[0, 0.5], [1, 1]]), ("numbers", [True]), ("integer", 2.0), ("classes", ["title"])]
    >>> tuple(is_value_of_kind(kind, value) for kind, value in values)
    (True, False, False, True)
    """
    if kind == "text":
        return isinstance(value, str)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if not isinstance(value, list):
        return False
    if kind in {"texts", "integers"}:
        return all(is_value_of_kind("text" if kind == "texts" else "integer", each) for each in value)
    if kind == "classes":
        return is_value_of_kind("texts", value) or is_value_of_kind("integers", value)
    return kind == "numbers" and _is_numbers(value)


def _is_numbers(value: Sequence[object]) -> bool:
    return all(
        _is_numbers(each) if isinstance(each, list) else isinstance(each, int | float) and not isinstance(each, bool)
        for each in value
    )
