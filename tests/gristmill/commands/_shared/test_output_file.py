from pathlib import Path

import pytest

from gristmill.commands._shared.output_file import write_output_file
from gristmill.errors import RecipeError


def test_the_file_appears_when_it_is_complete_and_not_after_an_error(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    for text in ("one", "two"):
        with write_output_file(str(target), "s3://lake") as path:
            path.write_text(text)
        assert target.read_text() == text
    with pytest.raises(UnicodeError), write_output_file(str(target), "s3://lake") as path:
        path.write_text("thr\ud800", encoding="utf-8")
    assert target.read_text() == "two"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_of_the_lake_is_not_replaced_by_whatever_name(tmp_path: Path) -> None:
    shard = tmp_path / "lake/documents/a.gz"
    shard.parent.mkdir(parents=True)
    shard.write_text("rows")
    (tmp_path / "link").symlink_to("lake/documents")
    for name in ("lake/documents/a.gz", "x/../lake/new", "link/a.gz"):
        with (
            pytest.raises(RecipeError, match="is in the lake"),
            write_output_file(f"{tmp_path}/{name}", f"{tmp_path}/lake"),
        ):
            pass
    assert shard.read_text() == "rows"


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    wrong = pytest.raises(RecipeError, match=r"--output .*no/x: cannot be written \(No such file or directory\)")
    with wrong, write_output_file(f"{tmp_path}/no/x", "s3://lake") as path:
        path.write_text("x")


def test_a_device_is_written_to_as_it_is() -> None:
    with write_output_file("/dev/null", "s3://lake") as path:
        assert path == Path("/dev/null")
