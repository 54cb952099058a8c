"""What an export declares of its format: the options, which its ledgers record as JSON."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar


class ExportFormat:
    """The options of a format. Each format has a frozen dataclass below this class; its fields are values of JSON.

    Attributes:
        type: name of the format: that of the entry point that names its Codec.
        release_only: names of the options that change only the release, and so no part of a slice.
        tokenizer: the tokenizer whose token caches the index reads; empty if it reads none.
    """

    type: ClassVar[str]
    release_only: ClassVar[frozenset[str]] = frozenset()

    tokenizer: str = ""

    @property
    def needs(self) -> Mapping[str, str]:
        """The modules that writing imports, beside those of Gristmill; each with the package to install."""
        return {}

    @property
    def divides(self) -> bool:
        """Whether the format divides its files among splits, so that the mix must not hold documents out."""
        return False


def format_parameters(declared: ExportFormat, *, release: bool = False) -> dict[str, Any]:
    """A format as JSON values.

    Args:
        declared: the format.
        release: whether to include the options that change only the release.

    Returns:
        The options by their names, and the name of the format as `type`.
    """
    options = {each.name: getattr(declared, each.name) for each in fields(declared)}  # type: ignore[arg-type]  # see there
    kept = {name: value for name, value in options.items() if release or name not in declared.release_only}
    values = {name: _as_json(value) for name, value in kept.items()}
    return dict(sorted({"type": declared.type, **values}.items()))


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return list(value) if isinstance(value, tuple) else value
