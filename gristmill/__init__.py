"""Gristmill: from raw text to training tokens. In a notebook: `lake = gristmill.open_lake("lake")`.

This is the one package file with code: the first line of a notebook names no module. Nothing is imported until a name
is asked for, so that `import gristmill` stays fast and a worker loads only what it uses.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would take longer than all else here
if TYPE_CHECKING:
    from typing import Any

__all__ = ["__version__", "open_lake"]


def __getattr__(name: str) -> "Any":
    import importlib  # noqa: PLC0415 - see above

    if name == "open_lake":
        return importlib.import_module("gristmill.api").open_lake
    if name == "__version__":
        return importlib.import_module("gristmill.installation").VERSION
    raise AttributeError(f"module 'gristmill' has no attribute {name!r}; the library is gristmill.api")
