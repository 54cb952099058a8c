"""`weights`: the table of a mix's streams."""

from dataclasses import replace

import pytest
from packedlake import indexes_of, make_caches, mix_of
from testkit import SHELVES, Mill, make_documents
from wholelake import CACHE, STREAM, TOKENIZER, even

from gristmill.__main__ import main
from gristmill.commands._shared.reading_lines import reading_lines
from gristmill.lake.ledger.files import read_head
from gristmill.pipeline.expected_tokens import expected_tokens
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.token_shares import Sequences
from gristmill.recipes.row_format import Text
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep

SHELF = ["--shelves", "gristmill,testshelf"]


def test_the_tokens_of_each_cache_are_shown_with_epochs(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    head = read_head(whole.store, CACHE)
    assert head is not None
    tokens = head.totals["train tokens"]
    assert main(["weights", str(whole.root), "even", "--budget", str(5 * tokens), *SHELF]) == 0
    title, headings, row, warning = capsys.readouterr().out.splitlines()
    assert title == f"mix even, tokenizer tiny-1: training reads {5 * tokens:,} tokens"
    assert headings.split() == ["stream", "tokens", "share", "read", "rate", "epochs"]
    assert row.split() == ["pages", f"{tokens:,}", "1", f"{5 * tokens:,}", "1", "5"]
    assert warning == "  warning: stream 'pages' is read 5 times; more than 4 times teaches little"


def test_an_edition_that_no_index_takes_is_not_what_training_reads(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three editions have 8 documents, and the newest has 1: indexes, `weights` and the preview stay at 2024."""
    pages = read_catalogue(("gristmill", "testshelf")).sources["pages"]
    monkeypatch.setitem(vars(pages), "snapshots", "replace")
    rows = make_documents(40)
    for snapshot, some in (("2022", rows), ("2023", rows), ("2025", rows[:5])):
        whole.raw("a.jsonl.gz", some, snapshot=snapshot)
    assert main(["make", str(whole.root), "even", *SHELF]) == 1
    for snapshot in ("2022", "2023", "2025"):
        whole.make(TokenCacheStep(even(), "pages", TOKENIZER, snapshot, tuple(SHELF[1].split(","))))
    read = read_head(whole.store, CACHE)
    assert read is not None
    capsys.readouterr()
    assert main(["weights", str(whole.root), "even", *SHELF]) == 1
    title, *_, why = capsys.readouterr().out.splitlines()
    assert title == f"mix even, tokenizer tiny-1: training reads {read.totals['train tokens']:,} tokens"
    held = (
        "stream 'pages': edition 2025 has 1 rows, less than half of 8, the median of 2022, 2023, 2024; the index takes"
    )
    assert why.startswith(f"  {held}")
    assert main(["preview", str(whole.root), "even", "--rows", "0", *SHELF]) == 0
    assert f"note: the index of the mix: {held}" in capsys.readouterr().out


def test_slices_of_what_a_stream_read_before_are_not_counted(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slice of 2024 is of v1, and that of 2023 of v0. Without a cache, the bytes of documents are counted."""
    stream = read_catalogue(("gristmill", "testshelf")).mixes["even"].streams[0]
    with monkeypatch.context() as patch:
        patch.setitem(vars(stream), "version", "v0")
        assert main(["weights", str(whole.root), "even", *SHELF]) == 2  # neither the cache nor the mix
        assert "mix 'even': no slice of it is finished" in capsys.readouterr().err
    whole.store.delete([CACHE.ledger])
    whole.raw("a.jsonl.gz", make_documents(4), snapshot="2023")
    whole.convert(snapshot="2023")
    ledger = whole.store.read(STREAM.ledger)
    whole.store.delete([STREAM.ledger])  # beside it no other version is made now; earlier Gristmills did
    whole.make(stream_step(Mix(name="even", streams=(replace(stream, version="v0"),)), "pages", "2023", SHELVES))
    whole.store.put(STREAM.ledger, ledger)
    head = read_head(whole.store, STREAM)
    assert head is not None
    assert main(["weights", str(whole.root), "even", *SHELF]) == 0
    *_, row = capsys.readouterr().out.splitlines()
    assert row.split()[:2] == ["pages", f"{head.totals['length'] // 4:,}"]


@pytest.mark.slow
def test_plan_shows_how_training_reads_a_mix_whose_budget_is_solved(
    whole: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of the mix is due, so its table follows; a budget that cannot be met names stream and tokens."""
    mix = read_catalogue(("gristmill", "testshelf")).mixes["even"]
    command = ["plan", str(whole.root), "--mix", "even", *SHELF]
    assert main(command) == 1
    assert "training reads" not in capsys.readouterr().out
    monkeypatch.setitem(vars(mix), "token_budget", 1_000_000)
    monkeypatch.setitem(vars(mix.streams[0]), "most_epochs", 2.0)
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "mix even, tokenizer tiny-1: training reads 1,000,000 tokens" in lines
    assert lines[-1].startswith("  the budget cannot be met: stream 'pages' is short of ")
    assert main(["preview", str(whole.root), "even", "--rows", "0", *SHELF]) == 0
    assert "mix even, estimated from this preview: training reads 1,000,000 tokens" in capsys.readouterr().out


def test_what_is_not_there_is_named(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", str(whole.root), "odd", *SHELF]) == 2
    assert "known: even, starter" in capsys.readouterr().err
    assert main(["weights", str(whole.root), "even", "--tokenizer", "tiny-2", *SHELF]) == 2
    assert "tiny-1" in capsys.readouterr().err
    assert main(["weights", str(whole.root), "even", "--budget", "0", *SHELF]) == 2
    assert "give a number of tokens, 1 or more" in capsys.readouterr().err


WEB, CODE = Stream(source="web", version="v0"), Stream(source="code", version="v0")


def test_the_stream_that_bounds_the_proportions_is_named() -> None:
    """100 tokens of code allow 100 of the web; a budget is a bound of its own, and without proportions all is read."""
    mix = Mix(name="blend", streams=(WEB, CODE), proportions={"web": 0.5, "code": 0.5})
    tokens = {"web": 700, "code": 100}
    title, *_, bound = reading_lines("counted", mix, mix.reading(tokens))
    assert title == "mix blend, counted: training reads 200 tokens"
    assert bound.startswith("  stream 'code' bounds it: more tokens in these shares would read it more often")
    talks = Stream(source="talks", version="v0")
    third = Mix(name="blend", streams=(WEB, CODE, talks), proportions={"web": 0.25, "code": 0.25, "talks": 0.5})
    *_, both = reading_lines("counted", third, third.reading({"web": 100, "code": 100, "talks": 700}))
    assert both.startswith("  streams 'web' and 'code' bound it: ")
    budgeted, repeated = replace(mix, token_budget=100), replace(mix, proportions=None, temperature=1.0)
    for other in (budgeted, repeated):
        assert len(list(reading_lines("counted", other, other.reading(tokens)))) == 4


def test_an_empty_stream_is_called_empty() -> None:
    mix = Mix(name="blend", streams=(WEB, CODE), proportions={"web": 0.7, "code": 0.3})
    _, _, web, code, *_, warning = reading_lines("counted", mix, mix.reading({"web": 700}))
    assert (web.split()[:3], code.split()[:3]) == (["web", "700", "1"], ["code", "0", "empty"])
    assert warning == "  warning: stream 'code' has no tokens: training does not read it"


def test_packed_streams_have_sequences_in_the_table_or_no_tokens_that_are_read() -> None:
    """Of 3:1 sequences with 10 and 5 tokens, 7 to 1 parts are tokens: 30 of 35 and 5 of 35."""
    mix = Mix(name="blend", streams=(replace(WEB, weight=3.0), replace(CODE, format=Text(pack=True))))
    title, headings, row, _ = reading_lines("counted", mix, mix.reading({"web": 300, "code": 100}))
    assert title.endswith("because the documents of code are packed into sequences; give the mix sequence_length=")
    assert (headings.split(), row.split()) == (["stream", "tokens", "weight"], ["web", "300", "0.75"])
    known = replace(mix, sequence_length=10, token_budget=70)
    solved = known.reading({"web": 300, "code": 100}, {"web": Sequences(30, 300), "code": Sequences(20, 100)})
    title, headings, _, row = reading_lines("counted", known, solved)
    assert title == "mix blend, counted: training reads 70 tokens in 8 sequences of 10"
    assert headings.split() == [
        "stream",
        "tokens",
        "sequences",
        "in",
        "them",
        "share",
        "weight",
        "read",
        "rate",
        "epochs",
    ]
    assert row.split() == ["code", "100", "20", "100", "0.1429", "0.25", "10", "0.1", "0.1"]


@pytest.mark.slow
def test_a_cache_that_has_no_index_yet_is_counted_without_a_plan(mill: Mill) -> None:
    mix = mix_of("texts", "talks", sequence_length=8)
    make_caches(mill, mix, texts=[8] * 10, talks=[5] * 10)
    before = mill.stamps()
    catalogue = read_catalogue(("gristmill", "testshelf"))
    [counted] = expected_tokens(mill.store, catalogue, mix)
    indexes_of(mill, mix).close(mill.store)
    [planned] = expected_tokens(mill.store, catalogue, mix)
    assert counted == planned
    assert counted.reading.total_sequences == 20
    assert before.items() <= mill.stamps().items()
