"""Field maps: which part of a sample each field of its type is read from, as `dataset.yaml` and the real tool have it.

A place is a part, such as `txt`, or a value inside of a part, such as `json[caption][0]`. Several places are joined by
commas: the first that a sample has is taken. Source: megatron-energon 7.4.1, `flavors/webdataset/field_access.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gristmill.energon.formats.sample_types import SampleType
from gristmill.errors import DataError, RecipeError

_PLACE = re.compile(r"(?P<part>[^][,]+)(?P<steps>(?:\[[^][,]+])*)")
_STEP = re.compile(r"\[([^][,]+)]")


@dataclass(frozen=True)
class PlaceInSample:
    """Where a field is read.

    Attributes:
        part: the name of the part, such as `jpg`.
        steps: steps into the value of the part: keys of objects, and numbers of list items.
    """

    part: str
    steps: tuple[str, ...] = ()

    def text(self) -> str:
        """The spelling of a field map.

        >>> PlaceInSample("json", ("caption", "0")).text()
        'json[caption][0]'
        """
        return self.part + "".join(f"[{step}]" for step in self.steps)


def parse_places(text: str) -> tuple[PlaceInSample, ...]:
    """The places that a field map names for a field, in the order in which they are tried.

    Raises:
        RecipeError: the text is not of this form. Energon would take all of it for the name of a part.

    >>> parse_places("jpg,json[images][0]")
    (PlaceInSample(part='jpg', steps=()), PlaceInSample(part='json', steps=('images', '0')))
    >>> parse_places("json[caption")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: 'json[caption' is no place in a sample; write such as txt, json[caption] or jpg,png
    """
    found = []
    for each in text.split(","):
        match = _PLACE.fullmatch(each)
        if match is None:
            raise RecipeError(f"{text!r} is no place in a sample; write such as txt, json[caption] or jpg,png")
        found.append(PlaceInSample(match["part"], tuple(_STEP.findall(match["steps"]))))
    return tuple(found)


def check_field_map(kind: SampleType, field_map: Mapping[str, str]) -> None:
    """Checks that a field map makes samples of a type. The real tool lets a required field be absent.

    Args:
        kind: the type of the samples.
        field_map: the places of each field.

    Raises:
        RecipeError: a field is not known or absent, no field map can make it, or a place is not of the right form.

    >>> from gristmill.energon.formats.sample_types import sample_type
    >>> check_field_map(sample_type("CaptioningSample"), {"image": "jpg"})
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: the field map of CaptioningSample has no caption, which every sample needs
    """
    if not kind.by_field_map:
        raise RecipeError(f"{kind.name} has a list of media, which no field map can make: use crude samples")
    for name, text in field_map.items():
        if kind.field(name).kind == "media":
            raise RecipeError(f"{kind.name}: {name} is a list of media, which no field map can make")
        parse_places(text)
    missing = [name for name in kind.required_field_names if name not in field_map]
    if missing:
        raise RecipeError(f"the field map of {kind.name} has no {', '.join(missing)}, which every sample needs")


def look_up_field(sample: Mapping[str, object], places: tuple[PlaceInSample, ...]) -> object:
    """The value of a field.

    Args:
        sample: the decoded value of each part.
        places: places where a field is read, from parse_places().

    Raises:
        DataError: the sample has the value in none of these places.

    >>> look_up_field({"json": {"captions": ["one", "two"]}}, parse_places("txt,json[captions][1]"))
    'two'
    """
    for place in places:
        try:
            return _value_at_place(sample, place)
        except (KeyError, IndexError, ValueError, TypeError):
            continue
    raise DataError(f"the sample has no {' and no '.join(place.text() for place in places)}")


def _value_at_place(sample: Mapping[str, object], place: PlaceInSample) -> object:
    value = sample[place.part]
    for step in place.steps:
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[step]
        else:
            raise TypeError(step)
    return value
