"""Resources that a run cannot configure. The launchpad leaves them out: it names what can be chosen."""

from typing import Any

import dagster as dg


class _NoSchema:
    """The schema of a resource that a run cannot configure.

    Dagster gives such a resource one that takes anything, and shows it. It leaves out a resource whose schema is false.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schema, name)


class _Unconfigured(dg.ResourceDefinition):
    @property
    def config_schema(self) -> Any:
        return _NoSchema(super().config_schema)

    @property
    def has_config_field(self) -> bool:
        return False


class FixedResource(_Unconfigured):
    """A resource that is the same object in every run of a process.

    Args:
        value: the object.
        description: description for people.
    """

    def __init__(self, value: Any, description: str) -> None:
        super().__init__(lambda _: value, description=description)


class FixedIOManager(_Unconfigured, dg.IOManagerDefinition):
    """An IO manager that is the same object in every run of a process.

    Args:
        value: the IO manager.
        description: description for people.
    """

    def __init__(self, value: dg.IOManager, description: str) -> None:
        super().__init__(lambda _: value, description=description)
