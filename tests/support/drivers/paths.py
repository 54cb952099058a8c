"""Where the tests' helpers lie, for programs that tests start."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The checkout."""

HELPERS = tuple(ROOT / "tests" / "support" / room for room in ("shelves", "servers", "drivers", "lakes"))


def python_path(*more: Path) -> str:
    """The PYTHONPATH of a program that a test starts: the checkout, the helpers, and more folders."""
    return os.pathsep.join(map(str, (ROOT, *HELPERS, *more)))
