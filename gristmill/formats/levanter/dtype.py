"""The element types of arrays."""

from typing import Literal, TypeAlias

DType: TypeAlias = Literal["int32", "int64", "float32"]
