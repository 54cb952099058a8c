"""Schemas of run configuration that take values alone, and never the name of an environment variable.

Dagster lets a run write `{env: NAME}` where a `dagster.Config` has a text or a number, and puts the variable's value
there. Whoever may launch a run could so read the credentials of the deployment, in its errors and logs.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import dagster as dg
from pydantic import ValidationError

from gristmill.errors import RecipeError

_Config = TypeVar("_Config", bound=dg.Config)


def plain_schema(config: type[dg.Config]) -> dg.Field:
    """The schema of a run configuration. An op that takes it declares it as its `config_schema`.

    Args:
        config: class that declares names, types, defaults and bounds. The op reads it by read_config().
    """
    return plain_field(config.to_config_schema().as_field())


def read_config(config: type[_Config], values: Mapping[str, Any]) -> _Config:
    """Reads the run configuration of an op. Dagster has checked its names and types at the launch, but no bounds.

    Args:
        config: class that was given to plain_schema().
        values: the op's `op_config`.

    Returns:
        The checked values.

    Raises:
        RecipeError: a value is out of its bounds.
    """
    try:
        return config(**values)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))} is {each['input']!r}: {each['msg']}" for each in error.errors()]
        raise RecipeError(f"the run configuration: {'; '.join(wrong)}") from None


def plain_field(field: dg.Field) -> dg.Field:
    """A field that takes the same values, but no `{env: NAME}`."""
    default = {"default_value": field.default_value} if field.default_provided else {}
    return dg.Field(
        _plain_type(field.config_type), is_required=field.is_required, description=field.description, **default
    )


def _plain_type(kind: Any) -> Any:
    if isinstance(kind, dg.ScalarUnion):  # a value, or the name of a variable
        return kind.scalar_type
    if isinstance(kind, dg.Noneable):
        return dg.Noneable(_plain_type(kind.inner_type))
    if isinstance(kind, dg.Array):
        return dg.Array(_plain_type(kind.inner_type))
    if isinstance(kind, dg.Map):
        return dg.Map(kind.key_type, _plain_type(kind.inner_type))  # type: ignore[no-untyped-call]  # Dagster's
    if isinstance(kind, dg.Shape):
        fields = {name: plain_field(field) for name, field in kind.fields.items()}
        return dg.Shape(fields)  # type: ignore[no-untyped-call]  # Dagster's
    return kind
