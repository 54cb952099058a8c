"""Each sniffer takes its own format, and none of those that are like it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.peeking import sniffers
from gristmill.peeking.head import Head
from gristmill.peeking.sniffers import Facts


def head(data: bytes | str, name: str = "a", *, whole: bool = True) -> Head:
    return Head(Path(name), "", data.encode() if isinstance(data, str) else data, whole)


def rows(*given: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in given)


OSCAR = {"content": "x", "warc_headers": {"warc-type": "conversion"}, "metadata": {"identification": {}}}
NEWER = OSCAR | {"metadata": {"quality_warnings": None}}
DOLMA = {"id": "1", "text": "x", "source": "s", "metadata": {}}
LABELS = {"id": "1", "attributes": {"pii__email": [[0, 1, 1.0]]}}
TREE = {"message_tree_id": "t", "prompt": {"text": "x"}}
PAIR = {"chosen": "\n\nHuman: x\n\nAssistant: y", "rejected": "\n\nHuman: x"}
WARC = b"WARC/1.0\r\nWARC-Type: %s\r\nContent-Length: 9\r\n\r\n%s\r\n\r\n"

GIVEN: list[tuple[Callable[[Head], Facts | None], list[bytes | str], list[bytes | str]]] = [
    (sniffers.sniff_oscar, [rows(OSCAR), rows(NEWER)], [rows({**OSCAR, "content": None}), rows(DOLMA)]),
    (sniffers.sniff_dolma, [rows(DOLMA), rows({"id": "1", "text": "x", "added": "y"})], [rows({"id": 1, "text": "x"}),
     rows(DOLMA | {"url": "x"}), rows({"id": "1", "text": "x"}), rows(LABELS)]),
    (sniffers.sniff_dolma_numbered, [rows(DOLMA | {"id": 1}), rows(DOLMA, DOLMA | {"id": 1})],
     [rows(DOLMA | {"id": 1.5}), rows({"id": 1, "text": "x"})]),
    (sniffers.sniff_dolma_attributes, [rows(LABELS)], [rows(DOLMA | {"attributes": {}}), rows({"id": "1"})]),
    (sniffers.sniff_reply_trees, [rows(TREE)], [rows({"message_tree_id": "t", "prompt": "x"})]),
    (sniffers.sniff_marked_turns, [rows(PAIR)], [rows({"chosen": "x", "rejected": "y"})]),
    (sniffers.sniff_redpajama_arxiv, [rows({"text": "x", "meta": {"arxiv_id": "1"}})],
     [rows({"text": "x", "meta": {}})]),
    (sniffers.sniff_threads, [rows({"text": "Q: a\n\nA: b"}, {"text": "Q: c"})], [rows({"text": "Q: a"}), rows(DOLMA)]),
    (sniffers.sniff_json_array, ['[{"id": 1, "text": "x"}]'], ["[1]", rows(DOLMA)]),
    (sniffers.sniff_turns_array, ['[{"id": 1, "talk": [{"speaker": "A", "text": "x"}]}]'], ['[{"talk": []}]', "[]"]),
    (sniffers.sniff_delimited, ["id,text\n1,x\n"], ["Hello, you\nand you\n", "", "one\n"]),
    (sniffers.sniff_wet, [WARC % (b"conversion", b"some text")], [WARC % (b"response", b"HTTP/1.1 "), "WARC/x"]),
    (sniffers.sniff_wat, [WARC % (b"metadata", b'{"Container": {}}')], [WARC % (b"metadata", b"fetchTime")]),
    (sniffers.sniff_warc, [WARC % (b"response", b"HTTP/1.1 "), WARC % (b"metadata", b"x")], ["The WARC/1.0 format"]),
    (sniffers.sniff_mediawiki, ['<mediawiki version="0.10"><page/>'], ["<wiki/>", "mediawiki"]),
    (sniffers.sniff_jats, ['<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS"><article>'],
     ["<article>"]),
    (sniffers.sniff_posts, ['\ufeff<posts>\n<row Id="1" PostTypeId="1"/>'], ["<posts><post/></posts>", "<users/>"]),
    (sniffers.sniff_html, ["<!doctype html>\n<html>", "<!-- x --><HTML lang='en'>"], ["<p>html</p>", "html"]),
    (sniffers.sniff_other_xml, ['<?xml version="1.0"?><feed/>'], ["<feed/>", "text"]),
    (sniffers.sniff_gutenberg, ["Title: X\n\n*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n"],
     ["Project Gutenberg"]),
    (sniffers.sniff_irc, ["[04:05] <ann> hi\n=== ben joined\n04:06 <ben> ho\n"], ["at 04:05 <ann> said hi\n", ""]),
    (sniffers.sniff_checksums, ["0" * 64 + "  a.gz\n", "f" * 96 + " *a.gz\n"], ["0" * 63 + "  a.gz\n", "", "x\n"]),
    (sniffers.sniff_yaml, ["a:\n- b\n- c: d\n", "---\na: b\n---\nc: d\n"],
     ["---\na:\n- b\nc: d\n---\n\n# T\n", "Title: x\nAuthor: y\nStatus: z\n\nText\n", "Words.\n"]),
    (sniffers.sniff_headed, ["PEP: 8\nTitle: x\nHistory:\n  y\nStatus: z\n\nText\n"], ["Note: x\n\nText\n", "Text\n"]),
    (sniffers.sniff_markdown, ["# Title\n\n- a\n- b\n"], ["#!/bin/sh\n", "Title\n=====\n"]),
    (sniffers.sniff_plain_text, ["words", "d\xe9j\xe0 vu".encode("latin-1")], [b"\x00\x01\x02", "", " \n"]),
]  # fmt: skip


@pytest.mark.parametrize(("sniff", "fits", "others"), GIVEN, ids=[sniff.__name__ for sniff, _, _ in GIVEN])
def test_a_sniffer_takes_its_own_format_alone(
    sniff: Callable[[Head], Facts | None], fits: list[bytes | str], others: list[bytes | str]
) -> None:
    assert [sniff(head(data)) is not None for data in fits] == [True] * len(fits)
    assert [sniff(head(data)) for data in others] == [None] * len(others)


def test_facts_tell_what_a_draft_needs() -> None:
    first, second = (sniffers.sniff_oscar(head(rows(row))) for row in (OSCAR, NEWER))
    assert first is not None
    assert second is not None
    assert (first.options, second.options) == ({"schema": "22.01"}, {"schema": "23.01"})
    table = sniffers.sniff_delimited(head("url\tbody\na\tx\n"))
    assert table is not None
    assert (table.options["delimiter"], table.options["id_key"]) == ("\t", "url")
    assert table.fields == ("the delimiter is a tab", "url: string", "body: string")
    bad = sniffers.sniff_json_lines(head(rows(*[{"id": number, "text": "x"} for number in range(9)]) + "// no\n"))
    assert bad is not None
    assert bad.notes == ("1 of the first 10 lines are no JSON objects: they will be refused",)


def test_an_end_of_a_name_helps_only_where_the_content_is_in_doubt() -> None:
    assert sniffers.sniff_yaml(head("a: x\nb: y\n  && z\n", "a.yaml")) is not None
    assert sniffers.sniff_yaml(head("a: x\nb: y\n  && z\n", "a.txt")) is None
    assert sniffers.sniff_yaml(head("Words, no keys.\n", "a.yaml")) is None
    assert sniffers.sniff_markdown(head("# Title\n\n" + "words\n" * 9, "a.md")) is not None
    assert sniffers.sniff_markdown(head("# Title\n\n" + "words\n" * 9, "a.txt")) is None


def test_a_table_in_another_encoding_declares_it_and_tells_its_ragged_rows() -> None:
    facts = sniffers.sniff_delimited(head(b"id,text\n" + b"1,caf\xe9\n" * 20 + b"2\n"))
    assert facts is not None
    assert facts.options["encoding"] == "iso-8859-1"
    assert "1 of the first 21 rows have another number of fields" in facts.notes[-1]


def test_a_file_that_is_named_as_a_table_is_one_though_a_row_of_few_is_ragged() -> None:
    text = "id;text;n\n1;a;1\n2;b;2\n3;c;3\n4;a;b;c\n"
    facts = sniffers.sniff_delimited(head(text, "ragged.csv"))
    assert facts is not None
    assert facts.options["delimiter"] == ";"
    assert facts.notes[-1] == "1 of the first 4 rows have another number of fields: they will be refused"
    assert sniffers.sniff_delimited(head(text, "poem.txt")) is None
    assert sniffers.sniff_delimited(head("Words; more\nof them\nand no table\n", "words.csv")) is None


def test_bytes_in_parquet_are_never_the_text(tmp_path: Path) -> None:
    image = {"bytes": b"x" * 99, "path": "p"}
    row = {"id": "1", "caption": "a mill", "raw": b"x" * 99, "image": image, "many": [b"x"]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a")
    facts = sniffers.sniff_parquet(head(b"PAR1", str(tmp_path / "a")))
    assert facts is not None
    assert facts.options["leave_out"] == ("raw", "image", "many")
    assert facts.options["format"].options == {"text_key": "caption"}
