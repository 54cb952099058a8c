"""What is marked, on cases that one can count by eye. The marks are those of dolma 1.2.1 on the same documents."""

from typing import Any

import orjson
import pytest

from gristmill.dolma.dedupe.config import DedupeConfig, NgramOptions
from gristmill.dolma.dedupe.key_path import KeyPath
from gristmill.dolma.dedupe.marking import Marker
from gristmill.dolma.dedupe.units import WHITE, words_of_texts
from gristmill.errors import MalformedRow

TEXT = KeyPath.parse("$.text")


def marks(config: DedupeConfig, *texts: str) -> list[Any]:
    """The value of each document's attribute; None: there is no attribute."""
    block = b"".join(orjson.dumps({"id": "a", "text": text}) + b"\n" for text in texts)
    rows = [orjson.loads(row) for row in Marker(config).rows(block, "a.jsonl", 0)]
    return [row["attributes"].get(config.numbered_name("dup")) for row in rows]


def paragraphs(**options: Any) -> DedupeConfig:
    return DedupeConfig(("a.jsonl",), "p", "dup", **options)


def documents(**options: Any) -> DedupeConfig:
    return DedupeConfig(("a.jsonl",), "p", "dup", KeyPath.parse("$.text"), **options)


def test_a_paragraph_that_occurred_before_is_marked_with_its_line_feed() -> None:
    assert marks(paragraphs(), "x\ny\n", "a b c\na b c\n\n\nx", "", "a b c") == [
        [],
        [[6, 12, 1], [12, 13, 1], [13, 14, 1], [14, 15, 1]],
        None,
        [[0, 5, 1]],
    ]


def test_offsets_grow_past_the_end_of_a_text_with_long_characters() -> None:
    assert marks(paragraphs(), "é\né\n", "é\n\né\nx\nx") == [[[2, 4, 1]], [[0, 2, 1], [2, 3, 1], [3, 5, 1], [7, 9, 1]]]


def test_a_longer_separator_counts_as_one() -> None:
    assert marks(paragraphs(separator="\n\n"), "a\n\nb\n\na\n\nb\n\n") == [[[4, 6, 1], [6, 8, 1]]]


def test_short_and_empty_paragraphs_are_left_out() -> None:
    assert marks(paragraphs(min_length=3), "éa\néa\néab\néab\nab\nab\nabc\nabc") == [[[10, 14, 1], [24, 28, 1]]]
    text = "a\n\n \n\u00a0\n\n \u001c \n\u001c \n\u200b\n\u200b\n\u0085\n\u0085"
    assert marks(paragraphs(skip_empty=True), text) == [[[17, 19, 1]]]


def test_with_min_words_nothing_is_marked() -> None:
    assert marks(paragraphs(min_words=3), "a b c\na b c\na b\na b\n") == [[]]
    assert marks(documents(min_words=2), "a b", "a b", "a", "a") == [None, None, [], []]


NGRAMS = "a b c d e f\na b c d e g\na b\na b\na b c\na b c\n\n\n"


def test_ngrams_give_the_share_that_occurred_before() -> None:
    found = marks(paragraphs(ngram=NgramOptions(3, 0, 0.0)), NGRAMS, "a b c d e f. a-b 3.5 can't")
    assert found == [
        [
            *([0, 12, 0.0], [12, 24, 0.75], [24, 28, 0.0], [28, 32, 1.0], [32, 38, 0.0], [38, 44, 1.0]),
            *([44, 45, 0.0], [45, 45, 1.0], [45, 45, 1.0]),
        ],
        [[0, 26, 0.4000000059604645]],
    ]


def test_ngrams_with_a_stride_and_without_short_paragraphs() -> None:
    text = "a b c d e f g h\na b c d e f g h\na b\na b\na b c\na b c\n\n\n"
    found = marks(paragraphs(ngram=NgramOptions(3, 2, 0.0, skip_short=True)), text)
    assert found == [[[0, 16, 0.0], [16, 32, 1.0], [40, 46, 1.0], [46, 52, 1.0]]]


def test_the_threshold_is_compared_in_32_bits() -> None:
    text = "a b c d e f g h\na b c d e f g i\n"
    assert marks(paragraphs(ngram=NgramOptions(3, 1, 0.83333333, skip_short=True)), text) == [
        [[16, 31, 0.8333333134651184]]
    ]
    assert marks(paragraphs(ngram=NgramOptions(3, 1, 0.834)), text) == [[]]


def test_an_ngram_of_one_word_is_the_paragraph_of_that_word() -> None:
    found = marks(paragraphs(ngram=NgramOptions(1, 0, 0.0)), "a\na\nb c\nb", "b c d\nc d")
    assert found == [
        [[0, 2, 1.0], [2, 4, 1.0], [4, 8, 0.0], [8, 9, 1.0]],
        [[0, 6, 0.6666666865348816], [6, 9, 1.0]],
    ]


def test_documents_are_marked_with_the_bytes_of_their_key() -> None:
    assert marks(documents(), "aé", "aé", "", "", " ") == [None, [[0, 3, 1]], None, [[0, 0, 1]], None]
    texts = ["aé", "aé", "", " ", "ab", "ab", "   ", "   "]
    assert marks(documents(skip_empty=True, min_length=3), *texts) == [None, [[0, 3, 1]], [], [], [], [], [], []]


def test_partitions_divide_the_keys() -> None:
    texts = [*"abcdefghij", *"abcdefghij"]
    parts = [marks(documents(partitions=3, partition=number), *texts) for number in range(3)]
    assert all(sum(part[place] != [] for part in parts) == 1 for place in range(20))
    assert [[[0, 1, 1]] in column for column in zip(*parts, strict=True)] == [False] * 10 + [True] * 10


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b'{"id": "a"}', "row 7: no text"),
        (b'{"id": "a", "text": null}', "row 7: no text"),
        (b"[1]", "row 7: it is no object"),
        (b"", "row 7: an empty line"),
        (b'{"id": "a", "text": "\\ud800"}', "row 7: "),
    ],
)
def test_a_document_without_a_text_is_an_error(row: bytes, words: str) -> None:
    with pytest.raises(MalformedRow, match=words):
        list(Marker(paragraphs()).rows(row + b"\n", "a.jsonl", 7))


def test_a_document_without_its_key_is_an_error() -> None:
    with pytest.raises(MalformedRow, match=r"row 1: no string at \$.text"):
        list(Marker(documents()).rows(b'{"text": "t"}\n{"text": 1}\n', "a.jsonl", 0))


def test_ids_are_written_as_they_are() -> None:
    rows = b'{"text":"x","id":3}\n{"text":"y"}\n{"text":"","id":{"b":1,"a":2}}\n'
    assert list(Marker(paragraphs()).rows(rows, "a.jsonl", 0)) == [
        b'{"attributes":{"dup":[]},"id":3}',
        b'{"attributes":{"dup":[]},"id":null}',
        b'{"attributes":{},"id":{"a":2,"b":1}}',
    ]


def test_words_are_pieces_with_more_than_white_space() -> None:
    assert list(words_of_texts(["", " \x1c\n", "né 3.5 日本", "a\x1cb"])) == [
        [],
        [b"\x1c"],
        ["né".encode(), b"3.5", "日".encode(), "本".encode()],
        [b"a", b"\x1c", b"b"],
    ]
    assert len(WHITE) == 25
