"""Whereabouts of documents and tokens: every one in a small lake, compared with the bytes themselves."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest
import zstandard
from testkit import SHELVES, SNAPSHOT, Mill, put_list
from tokenizers import Tokenizer
from tracelake import CACHE, KNOWN, RAW, even, in_mix, line, text, where, whose
from wholelake import TOKENIZER

from gristmill.errors import DataError
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.token_stream import open_split
from gristmill.stages.tokenization.files import tokenizer_path
from gristmill.tracing.trace import trace_document

SPLITS = ("train", "validation")


def unpacked(mill: Mill, path: str) -> bytes:
    data = mill.store.read(path)
    if path.endswith(".gz"):
        return gzip.decompress(data)
    return zstandard.decompress(data) if path.endswith(".zst") else data


# from the document on


@pytest.mark.slow
def test_the_raw_bytes_of_every_document_are_its_raw_line(clean: Mill) -> None:
    for number in range(90):
        raw = where(clean, number).raw
        assert raw is not None
        assert raw.range is not None
        start, end = raw.range
        assert unpacked(clean, raw.path)[start:end].rstrip(b"\r") == line(number)
        assert raw.counted_in == ("object" if raw.path == f"{RAW}/b.jsonl" else "unpacked object")


@pytest.mark.slow
def test_every_place_of_a_document_is_the_row_that_stands_there(clean: Mill) -> None:
    for number in range(90):
        found = where(clean, number)
        assert found.shard == "abc"[number // 30]
        for each in (*found.documents, *found.attributes, *found.mixes):
            if each.member is not None:
                assert each.row is not None
                assert json.loads(clean.lines(each.path)[each.row])["id"] == f"doc-{number}"
                assert f'"doc-{number}"'.encode() in gzip.decompress(clean.store.read_range(each.path, *each.member))


@pytest.mark.slow
def test_a_document_is_said_to_be_exactly_where_it_is(clean: Mill) -> None:
    for number in range(90):
        found = where(clean, number)
        there = [each.asset.split("/", 2)[2] for each in (*found.documents, *found.attributes) if each.member]
        expected = ["v0/documents", "v0/attributes/characters-1", "v0/attributes/words-1"]
        revised = ["v0/documents", "v1/documents", *expected[1:], "v1/attributes/characters-1"]
        assert there == (expected if number % 2 else revised)
        assert [each.member is not None for each in found.mixes] == [number in set(in_mix())]
        assert len(found.token_caches) == (number in set(in_mix()))


def test_what_the_attribute_sets_say_is_shown(clean: Mill) -> None:
    (characters, words, revised) = where(clean, 8).attributes
    length = len(text(8))
    assert characters.attributes == revised.attributes == {"characters-1__characters": [[0, length, float(length)]]}
    assert words.attributes["words-1__count"] == [[0, length, 7.0]]


def test_the_tokens_of_a_document_spell_its_text_and_no_other(clean: Mill) -> None:
    spelled = Tokenizer.from_str(clean.store.read(tokenizer_path(TOKENIZER.name)).decode())
    seen = dict.fromkeys(SPLITS, 0)
    for number in in_mix():
        (tokens,) = where(clean, number).token_caches
        assert tokens.tokens is not None
        ids = open_split(clean.store, CACHE, tokens.split).read_elements("input_ids", *tokens.tokens)
        assert spelled.decode(ids.tolist()).strip() == text(number)
        seen[tokens.split] += len(ids)
    assert seen == {split: open_split(clean.store, CACHE, split).count("input_ids") for split in SPLITS}
    assert min(seen.values()) > 0


def test_a_document_without_a_source_of_its_own_is_found_by_the_one_it_was_given(clean: Mill) -> None:
    assert b'"source"' not in line(28)
    assert where(clean, 28).documents[0].row == 28


def test_the_source_named_in_the_rows_counts_and_not_the_folder_alone(mill: Mill) -> None:
    row = b'{"id":"doc-1","text":"words of another origin","source":"web"}'
    mill.raw("web.jsonl", row + b"\n")
    mill.convert()
    (found,) = trace_document(mill.store, "web", "doc-1", KNOWN)
    assert (found.source, found.shard) == ("web", "web")
    assert mill.lines(found.documents[0].path) == [row]


def test_an_id_in_two_snapshots_is_found_in_both_or_in_the_one_asked_for(mill: Mill) -> None:
    mill.raw("a.jsonl", line(3) + b"\n", snapshot="2025")
    mill.convert(snapshot="2025")
    found = list(trace_document(mill.store, "pages", "doc-3", KNOWN))
    assert [(each.snapshot, each.documents[0].row) for each in found] == [("2024", 3), ("2025", 0)]
    (one,) = trace_document(mill.store, "pages", "doc-3", KNOWN, "2025")
    assert one == found[1]


@pytest.mark.parametrize(("source", "id_"), [("pages", "doc-90"), ("pages", "doc-"), ("nobody", "doc-1"), ("", "")])
def test_a_document_that_is_nowhere_is_an_error_that_says_where_it_was_looked_for(
    clean: Mill, source: str, id_: str
) -> None:
    with pytest.raises(DataError, match=r"looked for in sources/pages/v0/documents \(2024\)"):
        list(trace_document(clean.store, source, id_, KNOWN))


def test_the_name_of_a_recipe_tells_which_source_its_documents_name(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    rows = (b'{"id":"%d","text":"","source":"%s"}\n' % (number, name) for number, name in enumerate([b"web", b"blog"]))
    mill.raw("web.jsonl", b"".join(rows))
    mill.convert()
    with pytest.raises(DataError, match="Documents there have another `source` than 'pages': 'web', 'blog'; name that"):
        list(trace_document(mill.store, "pages", "1", KNOWN))
    with pytest.raises(DataError) as error:
        list(trace_document(mill.store, "web", "2", KNOWN))
    assert "another `source`" not in str(error.value)


def test_in_a_lake_without_documents_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="looked for in no finished partition"):
        list(trace_document(Mill(tmp_path / "empty").store, "pages", "doc-1", KNOWN))


def test_a_lake_that_was_given_v1_alone_is_traced_from_there(mill: Mill) -> None:
    for prefix in ("sources/pages/v0/", "sources/pages/raw/"):
        mill.store.delete([entry.path for entry in mill.store.list(prefix)])
    found = where(mill, 8)
    assert found.raw is None
    assert [each.asset for each in found.documents] == ["sources/pages/v1/documents"]
    assert found.token_caches[0].tokens is not None


# from the token back


@pytest.mark.slow
def test_every_token_of_both_splits_leads_to_the_document_whose_range_it_lies_in(clean: Mill) -> None:
    for split in SPLITS:
        for offset in range(open_split(clean.store, CACHE, split).count("input_ids")):
            found = whose(clean, offset, split)
            (there,) = found.document.token_caches
            assert (there.split, there.tokens) == (split, found.tokens)
            assert found.tokens[0] + found.number == offset < found.tokens[1]


def test_a_token_is_traced_to_the_bytes_of_its_raw_line(clean: Mill) -> None:
    ends = {whose(clean, offset, "train").tokens for offset in (0, 1, 5)}
    assert ends == {(0, next(iter(ends))[1])}  # begin, and two in the middle of the first document
    found = whose(clean, open_split(clean.store, CACHE, "train").count("input_ids") - 1)
    raw = found.document.raw
    assert raw is not None
    assert raw.range is not None
    row = json.loads(unpacked(clean, raw.path)[raw.range[0] : raw.range[1]])
    assert row["id"] == found.document.id
    assert found.number == found.tokens[1] - found.tokens[0] - 1


def test_a_token_beyond_the_end_is_an_error_that_names_the_last_one(clean: Mill) -> None:
    count = open_split(clean.store, CACHE, "train").count("input_ids")
    for offset in (count, count + 10**9, -1):
        with pytest.raises(DataError, match=rf"{CACHE}/train: there is no token .*: the last one is {count - 1:,}$"):
            whose(clean, offset)


def test_a_cache_without_its_index_has_no_stream(mill: Mill) -> None:
    mill.store.delete([f"{CACHE}/train/shard_ledger.json"])
    with pytest.raises(DataError, match="does not exist yet; make the cache's index"):
        whose(mill, 0)
    places = {place for number in in_mix() for place in where(mill, number).token_caches}
    assert {(each.tokens is None, each.why[:27]) for each in places if each.split == "train"} == {
        (True, "not in the cache's index: m")
    }
    assert all(each.tokens for each in places if each.split == "validation")


@pytest.mark.slow
def test_a_mix_that_was_made_again_since_its_cache_is_an_error_that_names_the_shard(mill: Mill) -> None:
    put_list(mill.store, b"")
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    count = sum(open_split(mill.store, CACHE, split).count("input_ids") for split in ("train",))
    messages = set()
    for offset in range(count):
        try:
            assert whose(mill, offset).document.shard in {"a", "c"}
        except DataError as error:
            messages.add(str(error))
    assert len(messages) == 1
    assert "shard b was tokenized from another version of it" in messages.pop()
    assert where(mill, 44).token_caches[0].why.startswith("made from another version of this shard")


def test_whereabouts_are_plain_json(clean: Mill) -> None:
    plain = json.loads(msgspec.json.encode(where(clean, 8)))
    assert list(plain) == [
        "source",
        "id",
        "snapshot",
        "shard",
        "raw",
        "documents",
        "attributes",
        "mixes",
        "token_caches",
        "parts",
    ]
    assert plain["documents"][1] == {
        "asset": "sources/pages/v1/documents",
        "path": "sources/pages/v1/documents/2024/a.jsonl.gz",
        "row": 4,
        "member": plain["documents"][1]["member"],
    }
