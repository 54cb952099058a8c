from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from testkit import SHELVES, Mill, Stopping, make_documents

from gristmill.errors import DataError, StoreError
from gristmill.execution.runner import Inline
from gristmill.execution.work import Done, Engine, Item, Job
from gristmill.lake.address import blocklist_path, place
from gristmill.lake.asset_kinds import kind_of
from gristmill.lake.ledger.model import Shard
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.source import Revision
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.tokenization.files import ledger_path

V0, MIXED, CACHE = "sources/pages/v0/documents", "mixes/blend/documents/pages", "token_caches/blend/tiny-1/pages"
CHARACTERS, FAULTY, WORDS = (f"sources/pages/v0/attributes/{name}-1" for name in ("characters", "faulty", "words"))
INDEXES = ["mixes/blend/index", "token_caches/blend/tiny-1/index"]
BLEND = Mix(
    name="blend", streams=(Stream(source="pages", version="v0", blocklists=("takedowns",)),), tokenizers=("tiny-1",)
)
TINY = Tokenizer(name="tiny-1", training=Training(mix="blend", snapshots={"pages": ("2024",)}, vocabulary=300))

Made = tuple[Maker, list[tuple[str, str]]]
Make = Callable[..., Made]


@pytest.fixture
def catalogue() -> Catalogue:
    """One source with three sets, a mix, and a tokenizer that is trained on the mix's 2024."""
    known = read_catalogue(SHELVES)
    sources = {"pages": replace(known.sources["pages"], revisions=())}
    taggers = {name: known.taggers[name] for name in ("characters-1", "faulty-1", "words-1")}
    return Catalogue(sources=sources, taggers=taggers, mixes={"blend": BLEND}, tokenizers={"tiny-1": TINY})


@pytest.fixture
def make(mill: Mill, catalogue: Catalogue) -> Make:
    """A run of some targets: its maker, which tells what it could not make, and the partitions that it made."""
    mill.store.put(blocklist_path("takedowns"), b"")

    def run(*words: str, snapshots: tuple[str, ...] = (), engine: Engine | None = None) -> Made:
        planner = Planner(catalogue, SHELVES, mill.lake, read_targets(catalogue, words, snapshots))
        maker = Maker(planner, mill.lake, engine or Inline(), mill.said.append)
        return maker, [(ledger.asset, ledger.snapshot) for ledger in maker.run()]

    return run


def documents(*texts: str) -> list[dict[str, Any]]:
    return [{"id": f"d{number}", "text": text, "source": "pages"} for number, text in enumerate(texts)]


def left(maker: Maker) -> list[tuple[str, str, str]]:
    """What was not made: its address, snapshot and state, or `failed`."""
    return [
        (each.prospect.asset, each.prospect.snapshot, "failed" if each.error else each.prospect.state)
        for each in maker.not_made
    ]


def test_everything_is_made_in_order_with_its_tokenizer_and_then_left_alone(mill: Mill, make: Make) -> None:
    mill.raw_shards(2)
    maker, made = make()
    assert made == [(each, "2024") for each in (V0, CHARACTERS, FAULTY, WORDS, MIXED, CACHE)]
    assert (maker.made, left(maker)) == (9, [])  # with the tokenizer and two indexes
    entries = 256 + 2 + 4  # bytes, special tokens, merges
    assert f"made tokenizers/tiny-1: {entries} entries, trained on 20 documents" in mill.said
    assert [line.partition(":")[0] for line in mill.said if ": written (" in line] == INDEXES
    before, said = mill.stamps(), len(mill.said)
    maker, made = make()
    assert (maker.made, made, mill.said[said:]) == (0, [], [])
    assert mill.stamps() == before


def test_a_set_that_fails_leaves_the_others_and_a_snapshot_that_fails_leaves_the_rest(mill: Mill, make: Make) -> None:
    mill.raw("a.jsonl.gz", documents("RAISE", "one two"))
    mill.raw("a.jsonl.gz", [*documents("one"), *documents("two")], snapshot="2025")  # d0 twice
    maker, made = make()
    assert made == [(V0, "2024"), (CHARACTERS, "2024"), (WORDS, "2024"), (MIXED, "2024"), (CACHE, "2024")]
    waiting = [(each, "2025", "wait") for each in (CHARACTERS, FAULTY, WORDS, MIXED)]
    assert left(maker) == [(FAULTY, "2024", "failed"), (V0, "2025", "failed"), *waiting, (CACHE, "2025", "wait")]
    assert [each.counts for each in maker.not_made] == [True, True, *[False] * 5]
    assert [line.partition(":")[0] for line in mill.said if ": written (" in line] == INDEXES
    with pytest.raises(
        DataError, match=r"(?s)attributes/faulty-1 \(2024\): .*LookupError: d0.*ids_unique: 1 ids occur twice"
    ):
        maker.raise_failures()


class Tampering:
    """An engine whose receipts of one kind of asset are not what was written."""

    def __init__(self, kind: str, change: Callable[[Shard], dict[str, Any]]) -> None:
        self._kind, self._change = kind, change

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        for done in Inline().map(job, items):
            ground = tuple(
                msgspec.structs.replace(each, receipt=msgspec.structs.replace(each.receipt, row=self._row(each)))
                for each in done.outcome.ground
            )
            yield msgspec.structs.replace(done, outcome=msgspec.structs.replace(done.outcome, ground=ground))

    def _row(self, ground: Any) -> Shard:
        kind = kind_of(ground.asset)
        row: Shard = ground.receipt.row
        return msgspec.structs.replace(row, **self._change(row)) if kind and kind.name == self._kind else row


class TakingDown:
    """An engine after which a document of the mix is taken down, just before the checks."""

    def __init__(self, mill: Mill) -> None:
        self._mill = mill

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        yield from Inline().map(job, items)
        row = b'{"source":"pages","id":"doc-00003","reason":"asked"}\n'
        self._mill.store.put(blocklist_path("takedowns"), row if job.stage == "mixing" else b"")


FAULTS = [
    ("ids_unique", V0, None),
    ("row_alignment", WORDS, lambda _: Tampering("attributes", lambda _: {"ids": "0" * 32})),
    ("blocklist_respected", MIXED, TakingDown),
    ("cache_complete", CACHE, lambda _: Tampering("token cache", lambda row: {"extra": row.extra | {"shards": {}}})),
]


@pytest.mark.parametrize(("check", "asset", "engine"), FAULTS)
def test_a_check_that_fails_leaves_no_ledger_and_what_is_made_from_it_waits(
    mill: Mill, make: Make, check: str, asset: str, engine: Callable[[Mill], Engine] | None
) -> None:
    mill.raw("a.jsonl.gz", make_documents(10) + (make_documents(1) if engine is None else []))
    maker, made = make(engine=engine(mill) if engine else None)
    failed = [each for each in maker.not_made if each.error]
    assert asset in {each.prospect.asset for each in failed}
    assert [str(each) for each in failed if f"not published: {check}: " not in str(each)] == []
    assert asset not in dict(made)
    assert mill.store.head(place(asset, "2024").ledger) is None
    below = {V0: [WORDS, MIXED, CACHE], MIXED: [CACHE]}.get(asset, [])
    assert {(each, "2024", "wait") for each in below} <= set(left(maker))
    assert all(mill.store.head(place(each, "2024").ledger) is None for each in below)


def test_a_target_is_made_with_what_it_needs_and_nothing_else(mill: Mill, make: Make) -> None:
    mill.raw_shards(1)
    mill.raw("a.jsonl.gz", make_documents(1), snapshot="2025")
    assert make("words-1", snapshots=("2025",))[1] == [(V0, "2025"), (WORDS, "2025")]
    assert make("blend/tiny-1", snapshots=("2025",))[1] == [
        (V0, "2024"),  # for the tokenizer
        (MIXED, "2024"),
        (MIXED, "2025"),
        (CACHE, "2025"),
    ]
    assert make("tokenizers/tiny-1")[0].made == 0


def test_a_tokenizer_whose_training_data_are_not_there_waits_and_its_caches_too(mill: Mill, make: Make) -> None:
    mill.raw("a.jsonl.gz", make_documents(3), snapshot="2025")
    maker, made = make()
    assert dict(made)[MIXED] == "2025"
    waiting = [("tokenizers/tiny-1", "", "wait"), (CACHE, "2025", "wait"), (INDEXES[1], "", "wait")]
    assert left(maker) == waiting
    assert str(maker.not_made[0]) == f"tokenizers/tiny-1: wait: never made; for {MIXED} (2024), to train it on"
    assert [each.counts for each in maker.not_made] == [False] * 3
    maker.raise_failures()  # nothing that was asked for by name
    maker, _ = make("blend")
    assert [each.counts for each in maker.not_made] == [False, True, True]
    with pytest.raises(DataError, match="wait: for tokenizers/tiny-1"):
        maker.raise_failures()


def test_a_lost_ledger_of_a_tokenizer_is_written_again_if_it_becomes_the_same(mill: Mill, make: Make) -> None:
    mill.raw_shards(1)
    make()
    before = mill.store.read("tokenizers/tiny-1/tokenizer.json")
    mill.store.delete([ledger_path("tiny-1")])
    maker, made = make()
    assert (maker.made, made) == (1, [])
    assert any("is not there, although tokenizer.json is" in line for line in mill.said)
    assert mill.store.read("tokenizers/tiny-1/tokenizer.json") == before
    mill.raw("a.jsonl.gz", documents("zebra zebra zebra"))  # the training data change; the tokenizer does not
    make("pages", "mixes/blend/documents")
    mill.store.delete([ledger_path("tiny-1")])
    maker, _ = make()
    assert "would become another tokenizer" in str(maker.not_made[0])
    assert mill.store.read("tokenizers/tiny-1/tokenizer.json") == before


def test_what_was_ground_before_a_stop_is_kept_and_told(mill: Mill, make: Make, catalogue: Catalogue) -> None:
    mill.raw_shards(3)
    planner = Planner(catalogue, SHELVES, mill.lake)
    maker = Maker(planner, mill.lake, Stopping(2), mill.said.append)
    with pytest.raises(KeyboardInterrupt):
        list(maker.run())
    assert maker.report_kept() == ["0 partitions made", f"{V0} (2024): 2 shards are kept"]
    make("pages")
    assert f"{V0} (2024): never made; 2 shards have their receipts from an interrupted run" in mill.said
    assert not [entry.path for entry in mill.store.list("") if entry.path.endswith(".claim")]


def test_a_torn_table_is_written_again(mill: Mill, make: Make) -> None:
    mill.raw_shards(1)
    make("pages")
    table = place(V0, "2024").table
    before = mill.store.read(table)
    mill.store.put(table, before[:-4])
    maker, made = make("pages")
    assert ((V0, "2024") in made, left(maker)) == (True, [])
    assert mill.store.read(table) == before


class Dead:
    """An engine whose lake is lost while it grinds."""

    def __init__(self, mill: Mill) -> None:
        self._mill = mill

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        self._mill.root.rename(self._mill.root.with_name("gone"))
        self._mill.root.touch()
        yield from Inline().map(job, items)


def test_a_lake_that_does_not_answer_any_more_ends_the_run(mill: Mill, make: Make) -> None:
    mill.raw_shards(1)
    with pytest.raises(StoreError, match="there is no lake"):
        make(engine=Dead(mill))


REFUSED = "it keeps its slices while mixes/blend/documents/pages (2024) is refused"


def test_the_indexes_keep_their_slices_while_these_are_refused(mill: Mill, make: Make, catalogue: Catalogue) -> None:
    """The stream of the finished mix takes another rate: its slice is refused, and so is a new one."""
    mill.raw_shards(1, rows=3)
    make()
    catalogue.mixes["blend"] = replace(BLEND, streams=(replace(BLEND.streams[0], rate=0.5),))
    maker, made = make()
    assert (made, left(maker)) == ([], [(MIXED, "2024", "refused")])  # nothing would be in an index that is not

    stream = replace(BLEND.streams[0], version="v1")
    catalogue.sources["pages"] = read_catalogue(SHELVES).sources["pages"]
    catalogue.mixes["blend"] = replace(BLEND, streams=(stream,))
    before = {path: data for path, data in mill.tree().items() if "/index/" in path}
    maker, made = make()
    assert [state for *_, state in left(maker)] == ["refused"] * 3
    assert [each.prospect.why for each in maker.not_made[1:]] == [(REFUSED,)] * 2
    assert {path: data for path, data in mill.tree().items() if "/index/" in path} == before

    catalogue.mixes["blend"] = BLEND
    assert left(make()[0]) == []


@pytest.mark.parametrize("draft", [False, True])
def test_the_indexes_keep_their_slices_while_the_version_that_they_read_now_fails(
    mill: Mill, make: Make, catalogue: Catalogue, *, draft: bool
) -> None:
    mill.raw_shards(1, rows=3)
    catalogue.mixes["blend"] = blend = replace(BLEND, draft=draft)
    make()
    v1 = Revision(
        columns=(score("words-1__nothing"),), include=(Rule("all", "words_1__nothing > 0", "a test"),), version="v1"
    )
    catalogue.sources["pages"] = replace(catalogue.sources["pages"], revisions=(v1,))
    catalogue.mixes["blend"] = replace(blend, streams=(replace(blend.streams[0], version="v1"),))
    before = {path: data for path, data in mill.tree().items() if "/index/" in path}
    maker, made = make("blend")
    assert made == []
    assert left(maker) == [
        ("sources/pages/v1/documents", "2024", "failed"),
        (MIXED, "2024", "wait"),
        *((each, "", "wait") for each in INDEXES),
    ]
    assert maker.not_made[-1].prospect.why == (REFUSED.replace("refused", "waiting"),)
    assert {path: data for path, data in mill.tree().items() if "/index/" in path} == before


def by_language(name: str, language: str) -> Stream:
    rule = Rule(f"is-{language}", f"language = '{language}'", "each document has one of two")
    columns = (field("metadata.language", name="language"),)
    return replace(BLEND.streams[0], name=name, columns=columns, include=(rule,))


def test_new_snapshots_and_takedowns_reach_an_index_while_another_stream_is_refused(
    mill: Mill, make: Make, catalogue: Catalogue
) -> None:
    """English are documents 0, 2 and 4 of 2024, French 1 and 3. English is refused, 3 is taken down, and 2025 comes."""
    english, french = by_language("pages", "en"), by_language("more", "fr")
    catalogue.mixes["blend"] = replace(BLEND, streams=(english, french))
    mill.raw_shards(1, rows=5)
    assert left(make()[0]) == []
    catalogue.mixes["blend"] = replace(BLEND, streams=(replace(english, rate=0.5), french))
    taken = {"source": "pages", "id": "doc-00003", "reason": "asked"}
    mill.store.put(blocklist_path("takedowns"), msgspec.json.encode(taken) + b"\n")
    mill.raw("a.jsonl.gz", make_documents(4, start=50), snapshot="2025")
    maker, _ = make()
    refused, wait = ("refused", MIXED), ("wait", CACHE)
    assert [(state, asset) for asset, _, state in left(maker)] == [refused, refused, wait]
    for index in INDEXES:
        assert rows_of_slices(mill, index) == {("pages", "2024"): 3, ("more", "2024"): 1, ("more", "2025"): 2}


def rows_of_slices(mill: Mill, index: str) -> dict[tuple[str, str], int]:
    """The rows of each slice of an index, by its stream and snapshot."""
    slices = msgspec.json.decode(mill.store.read(f"{index}/index.json"))["slices"]
    return {(each["stream"], each["snapshot"]): each["totals"]["rows"] for each in slices}


def test_an_index_loses_a_retracted_snapshot_while_another_stream_is_refused(
    mill: Mill, make: Make, catalogue: Catalogue
) -> None:
    """English are documents 0, 2, 4 of 2024, and 50 and 52 of 2025. English is refused; French loses 2024."""
    english, french = by_language("pages", "en"), by_language("more", "fr")
    catalogue.mixes["blend"] = replace(BLEND, streams=(english, french))
    mill.raw_shards(1, rows=5)
    mill.raw("a.jsonl.gz", make_documents(4, start=50), snapshot="2025")
    assert left(make()[0]) == []
    catalogue.mixes["blend"] = replace(BLEND, streams=(replace(english, rate=0.5), french))
    mill.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    mill.make(replace(ConversionStep(catalogue.sources["pages"], "2024", SHELVES), vanished=True))
    maker, _ = make()
    assert {asset for asset, *_ in left(maker)}.isdisjoint(INDEXES)
    for index in INDEXES:
        assert rows_of_slices(mill, index) == {("pages", "2024"): 3, ("pages", "2025"): 2, ("more", "2025"): 2}


def test_raw_data_that_moved_to_another_snapshot_are_refused_before_anything_is_made(mill: Mill, make: Make) -> None:
    mill.raw_shards(1, rows=3)
    make()
    raw = mill.root / "sources" / "pages" / "raw"
    (raw / "2024").rename(raw / "2024-01")
    mill.raw("a.jsonl.gz", make_documents(2, start=50), snapshot="2025")
    said = len(mill.said)
    maker, made = make()
    assert {snapshot for _, snapshot in made} == {"2025"}
    assert left(maker)[:1] == [(V0, "2024", "failed")]
    assert (V0, "2024-01", "refused") in left(maker)
    assert not [asset for asset, *_ in left(maker) if asset in INDEXES]  # they have 2025, and still 2024
    assert [line.partition(":")[0] for line in mill.said[said:] if ": written (" in line] == list(INDEXES)
    (raw / "2024-01" / "a.jsonl.gz").rename(raw / "2025" / "b.jsonl.gz")  # into the finished one
    (raw / "2024-01").rmdir()
    maker, made = make()
    assert made == []
    assert (V0, "2025", "refused") in left(maker)
    (raw / "2024").mkdir()
    (raw / "2025" / "b.jsonl.gz").rename(raw / "2024" / "a.jsonl.gz")
    assert left(make()[0]) == []
