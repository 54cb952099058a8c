"""The element types of a Levanter array. A file of its own: recipes name types without importing numcodecs."""

from typing import Literal, TypeAlias

DType: TypeAlias = Literal["int32", "int64", "float32"]
