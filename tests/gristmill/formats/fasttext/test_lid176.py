import hashlib
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.formats.fasttext.lid176 import model_bytes


def test_another_model_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "lid.176.ftz"
    other.write_bytes(b"another")
    with pytest.raises(RecipeError, match=r"lid\.176\.ftz has sha256 " + hashlib.sha256(b"another").hexdigest()):
        model_bytes(other)


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"lid\.176\.ftz cannot be read"):
        model_bytes(tmp_path / "lid.176.ftz")
