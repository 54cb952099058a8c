"""Texts with header fields become documents."""

import os
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.files.headed_texts import HeadedTexts, split_text_header
from gristmill.readers.text import Unfit
from gristmill.recipes.raw_object import RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
PEP = "PEP: 8\nTitle: Style: a guide\nAuthor: Ann,\n    Ben\nPost-History:\nCreated: 05-Jul-2001\n\n\nText\n\nX: y\n"


def read(tmp_path: Path, text: str, **options: Any) -> Any:
    fields = {"id_field": "PEP", "id_template": "pep-{}", "created_field": "Created"}
    convert = HeadedTexts(source="talks", **(fields | options))
    (made,) = convert(talk_file(tmp_path, "pep-0008.rst", text.encode()))
    return made


def test_header_fields_become_metadata_and_the_body_the_text(tmp_path: Path) -> None:
    metadata = {
        "pep": "8", "title": "Style: a guide", "authors": "Ann, Ben", "post_history": "", "created": "05-Jul-2001",
        "path": "pep-0008.rst",
    }  # fmt: skip
    made = read(tmp_path, PEP, names={"Author": "authors"})
    assert made == Document(
        id="pep-8", text="Text\n\nX: y\n", source="talks", created="2001-07-05T00:00:00Z", metadata=metadata
    )
    assert read(tmp_path, PEP, header=True).text == PEP
    assert read(tmp_path, PEP.replace("\n", "\r\n")).text == "Text\r\n\r\nX: y\r\n"
    assert read(tmp_path, PEP, id_field=None).id == "pep-0008.rst"


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        (PEP.replace("Author:", "Author"), "malformed header", "line 3: not a field"),
        (PEP.replace("Author:", "PEP:"), "malformed header", "line 3: a second PEP"),
        (f" {PEP}", "malformed header", "line 1: not a field"),
        (PEP.replace("PEP", "Number"), "no field 'PEP'", "it has: Number, Title"),
        (PEP.replace("Jul", "Jux"), "malformed date", "Created: "),
        (PEP.partition("\n\n")[0], "empty text", ""),
        ("", "empty text", ""),
    ],
)
def test_a_text_without_a_valid_header_is_refused(tmp_path: Path, text: str, reason: str, detail: str) -> None:
    made = read(tmp_path, text)
    assert isinstance(made, Refused)
    assert (made.reason, detail in made.where, made.raw) == (reason, True, text.encode())


def test_a_header_without_end_is_all_of_the_text() -> None:
    assert split_text_header("A: b") == ({"A": "b"}, "")
    with pytest.raises(Unfit, match="malformed header"):
        split_text_header("no header\n\ntext")


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
def test_all_sample_peps_are_read() -> None:
    size = Path(f"{SAMPLES}/raw/peps/peps.tar.gz").stat().st_size
    raw = RawObject(FolderStore(f"{SAMPLES}/raw/peps"), "peps.tar.gz", "peps.tar.gz", size)
    made = list(HeadedTexts(source="peps", id_field="PEP", created_field="Created")(raw))
    assert [each for each in made if not isinstance(each, Document)] == []
    assert len({each.id for each in made if isinstance(each, Document)}) == 736
