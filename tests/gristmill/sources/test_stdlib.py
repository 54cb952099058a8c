from collections.abc import Callable

import pytest

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.sources.stdlib import STDLIB, convert

Make = Callable[[str, bytes], RawObject]


def test_a_source_file_becomes_one_document_named_by_its_path(raw_object: Make) -> None:
    [document] = convert(raw_object("asyncio/tasks.py", b"import os\n"))
    assert document == Document(
        id="asyncio/tasks.py",
        text="import os\n",
        source="stdlib",
        metadata={
            "kind": "code",
            "license": "PSF-2.0",
            "path": "asyncio/tasks.py",
            "programming_language": "Python",
        },
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "empty text"), (b"# coding: uft-8\n", "undecodable source"), (b"x = '\0'\n", "text holds NUL")],
)
def test_a_source_file_that_is_wrong_is_refused_whole(raw_object: Make, data: bytes, reason: str) -> None:
    assert list(convert(raw_object("test/bad.py", data))) == [Refused(reason=reason, where="test/bad.py", raw=data)]


def test_the_recipe_reads_source_files_and_not_the_licence() -> None:
    assert [STDLIB.wants(name) for name in ("asyncio/tasks.py", "LICENSE.txt")] == [True, False]
