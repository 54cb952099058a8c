"""CI starts its first programs by a Python that has none of our packages, and not this checkout on its path."""

import subprocess
import sys

from paths import ROOT

from scripts import ci


def test_what_ci_starts_before_anything_is_installed_needs_the_standard_library_alone() -> None:
    program = ROOT / ci.WHEEL
    read = f"import sys; sys.path.insert(0, {str(program.parent)!r}); import {program.stem}"
    # without site-packages and PYTHONPATH
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", read], cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
