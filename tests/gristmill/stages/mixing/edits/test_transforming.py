"""Transforms over the rows of a block: what is written, dropped and counted."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from marked import edited, row, texts
from streams import stream

from gristmill.errors import MalformedRow, RecipeError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.edits.transform import Drop, Transform
from gristmill.stages.mixing.edits.editor import Editor
from gristmill.stages.mixing.edits.transforming import transforms_of_selection


def named(name: str, document: Callable[[Document], Any]) -> Transform:
    return Transform(name=name, document=document)


def rows(*found: str) -> list[bytes]:
    return [json.dumps(row(text, id=f"d{number}")).encode() for number, text in enumerate(found)]


def test_transforms_follow_the_edits_in_their_order_and_count_what_they_change() -> None:
    counts: dict[str, int] = {}
    transforms = (
        named("shorter-1", lambda document: document.text.strip("*")),
        named("louder-1", lambda document: Drop("empty") if not document.text else document.text.upper()),
    )
    found: list[dict[str, Any]] = [{"email": [[0, 2, 1]]}, {"email": []}, {"email": [[0, 2, 1]]}]
    block = edited(rows("ab cd", "EF", "gh"), found, counts, transforms, edits=(Edit(spans="pii-1__email", mask="*"),))
    assert (texts(block), block.dropped_counts()) == ([" CD", "EF"], {"transform louder-1: empty": 1})
    assert counts == {
        "edits: rows changed": 2,
        "edits: characters before": 7,
        "edits: characters after": 7,
        "transform shorter-1: rows changed": 2,
        "transform shorter-1: characters before": 7,
        "transform shorter-1: characters after": 3,
        "transform louder-1: rows changed": 1,
        "transform louder-1: characters before": 3,
        "transform louder-1: characters after": 3,
        "rows changed": 1,
    }


def test_changed_metadata_are_written_and_the_rest_of_the_row_stays() -> None:
    line = b'{"id":"d1", "n":1e0, "metadata" : {"a":1}, "source":"pages","text":"x"}'
    counts: dict[str, int] = {}
    marked = named("marked-1", lambda document: msgspec.structs.replace(document, metadata={"a": [True]}))
    block = edited([line], [{}], counts, (marked,))
    assert block.kept_rows()[0] == b'{"id":"d1", "n":1e0, "metadata" : {"a":[true]}, "source":"pages","text":"x"}\n'
    assert counts == {"transform marked-1: metadata changed": 1, "rows changed": 1}


@pytest.mark.parametrize("metadata", [{"a": {1, 2}}, {"a": float("nan")}])
def test_metadata_that_are_not_json_name_shard_and_row(metadata: dict[str, Any]) -> None:
    odd = named("odd-1", lambda document: msgspec.structs.replace(document, metadata=metadata))
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 3: transform odd-1: metadata\.a is"):
        edited(rows("x"), [{}], None, (odd,), first=3)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"a": ["x", "\ud800"]}, r"metadata\.a\[1\] is '\\ud800', which is not UTF-8"),
        ({"a": {"\ud800": 1}}, r"metadata\.a has the key '\\ud800', which is not UTF-8"),
    ],
)
def test_metadata_that_are_not_utf_8_name_shard_and_row(metadata: dict[str, Any], words: str) -> None:
    odd = named("odd-1", lambda document: msgspec.structs.replace(document, metadata=metadata))
    with pytest.raises(MalformedRow, match=rf"a\.jsonl\.gz: row 3: transform odd-1: {words}"):
        edited(rows("x"), [{}], None, (odd,), first=3)


def test_a_transform_that_fails_names_shard_row_and_reason() -> None:
    odd = named("odd-1", lambda document: str(1 // (document.text != "b")))
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 4: transform odd-1: ZeroDivisionError.*mend the"):
        edited(rows("a", "b"), [{}, {}], None, (odd,), first=3)


def test_the_text_of_a_chat_row_is_not_transformed() -> None:
    line = json.dumps(row("hi", metadata={"messages": [{"role": "user", "content": "hi"}]})).encode()
    with pytest.raises(MalformedRow, match=r"rendered from metadata\.messages"):
        edited([line], [{}], None, (named("odd-1", lambda _: "HI"),))


def test_a_selection_without_its_transforms_is_refused() -> None:
    with pytest.raises(RecipeError, match="the transforms odd-1 of the selection were not opened"):
        Editor(stream(transforms=("odd-1",)), (), place(documents_asset("pages", "v0"), "2024"))
    with pytest.raises(RecipeError, match="transforms: no 'odd-1' on this shelf"):
        transforms_of_selection(["odd-1"], ("gristmill",))


def test_a_row_that_is_no_document_is_named_by_its_number_in_the_shard() -> None:
    lines = [*rows("one", "two"), b'{"id":"d2","source":"pages","text":"three","added":7}']
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 5: .*str"):
        edited(lines, [{}, {}, {}], {}, (named("same-1", lambda document: document.text),), first=3)
