"""What all taggers of a run share: arrays that none of them can change."""

from dataclasses import fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class shared(cached_property[T]):  # noqa: N801 - a decorator, named as `cached_property` is
    """A property that is computed once. If it is an array, it is read-only.

    >>> class Text:
    ...     @shared
    ...     def sizes(self):
    ...         return np.array([2, 5])
    >>> Text().sizes.flags.writeable
    False
    """

    def __set_name__(self, owner: type[Any], name: str) -> None:
        function = self.func

        def computed(of: Any) -> T:
            value = function(of)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            return value

        computed.__doc__ = function.__doc__
        self.func = computed
        super().__set_name__(owner, name)


def make_arrays_read_only(of: Any) -> None:
    """Makes all arrays in the fields of a dataclass read-only."""
    for field in fields(of):
        value = getattr(of, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
