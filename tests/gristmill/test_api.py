"""The library: from raw to examples, and proofs, by what programs of users may import."""

from pathlib import Path

import pytest
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import make_whole

from gristmill import api
from gristmill.errors import DataError, RecipeError
from gristmill.recipes.row_format import Text


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with one of everything, which no test changes."""
    return make_whole(tmp_path_factory.mktemp("whole") / "lake").root


def test_what_is_made_is_what_the_steps_make(mill: Mill, whole: Path) -> None:
    mill.raw("a.jsonl.gz", [*make_documents(20), b"no document"])
    mill.raw("b.jsonl.gz", make_documents(20, start=20))
    made = {ledger.asset: ledger for ledger in api.make(api.open_lake(str(mill.root)), "pages", shelves=SHELVES)}
    other = Mill(whole)
    for version in ("v0", "v1"):
        where = mill.documents(version)
        assert mill.table(where) == other.table(where)
        assert made[where.asset].fingerprint


def test_a_lake_is_named_by_the_environment_unless_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRISTMILL_LAKE", "s3://corpus/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:9000")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    options = {"endpoint": "http://localhost:9000", "region": "eu-central-1"}
    assert (api.open_lake().url, api.open_lake().options) == ("s3://corpus/lake", options)
    assert (api.open_lake(str(tmp_path), {}).url, api.open_lake(str(tmp_path), {}).options) == (str(tmp_path), {})


def test_a_lake_is_proven_and_planned(whole: Path, tmp_path: Path) -> None:
    lake = api.open_lake(str(whole))
    assert list(api.verify(lake)) == []
    states = {(each.asset, each.snapshot): each.state for each in api.plan(lake, shelves=SHELVES)}
    assert states["sources/pages/v1/documents", SNAPSHOT] == "finished"
    mill = make_whole(tmp_path / "lake")
    mill.store.delete([mill.documents().shard("a")])
    (finding, *_) = api.verify(api.open_lake(str(mill.root)), "sources/pages/v0/documents")
    assert finding.path == mill.documents().shard("a")


def test_a_document_and_its_tokens_lead_to_each_other(whole: Path) -> None:
    lake = api.open_lake(str(whole))
    (found,) = api.trace(lake, "pages", "doc-00024", shelves=SHELVES)
    (tokens,) = found.token_caches
    assert tokens.tokens is not None
    back = api.trace_token(lake, "even", "tiny-1", "pages", tokens.tokens[0], shelves=SHELVES)
    assert (back.document.id, back.number) == ("doc-00024", 0)
    with pytest.raises(DataError, match="no document has the id 'nobody'"):
        list(api.trace(lake, "pages", "nobody"))


def test_a_split_is_read_as_examples(whole: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    lake = api.open_lake(str(whole))
    split = api.open_split(lake, "even", "tiny-1", "pages")
    assert split.rows == 8
    spelling = tokenizers.Tokenizer.from_str(api.read_tokenizer(lake, "tiny-1"))
    examples = api.examples_of(split, Text(), 8, eos=spelling.token_to_id("<|endoftext|>"))
    assert len(examples) == split.count("input_ids") // 8
    assert "word" in api.show_example(examples[0], spelling.decode)
    with pytest.raises(DataError):
        api.read_plan(lake, split, Text(pack=True), 8)


def test_a_cache_of_ones_own_is_written_and_proven(tmp_path: Path) -> None:
    with api.write_cache(str(tmp_path / "train"), {"input_ids": "int32"}, vocab_size=10) as cache:
        cache.append({"input_ids": [1, 2, 3]})
        cache.append({"input_ids": [4]})
    assert api.verify_cache(str(tmp_path / "train"))["total_num_rows"] == 2


def test_a_tokenizer_that_no_shelf_has_is_refused(mill: Mill) -> None:
    with pytest.raises(RecipeError, match=r"make_tokenizer\(\) names the tokenizer 'nobody-1'"):
        api.make_tokenizer(api.open_lake(str(mill.root)), "nobody-1")


def test_no_function_reads_shelves_that_lie_in_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lake" / "theirs" / "sources"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text("raise SystemExit('it ran')")
    (tmp_path / "lake" / "sources").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "lake"))
    lake, shelves = api.open_lake(str(tmp_path / "lake")), ("theirs",)
    for call in (
        lambda: next(api.make(lake, "one", shelves=shelves)),
        lambda: next(api.plan(lake, shelves=shelves)),
        lambda: api.make_tokenizer(lake, "one-1", shelves=shelves),
        lambda: api.trace(lake, "one", "id", shelves=shelves),
        lambda: api.trace_token(lake, "mix", "one-1", "one", 0, shelves=shelves),
    ):
        with pytest.raises(RecipeError, match=r"the package theirs .* is in the lake"):
            call()
