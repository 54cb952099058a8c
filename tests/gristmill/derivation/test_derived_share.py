"""The share of the bytes that follows from raw data, counted by eye."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from dedupelake import put
from dedupeshelf.dedupes import texts
from testkit import Mill, notes, own_shelf
from wholelake import CACHE, DOCUMENTS, REVISED, STREAM, WORDS, table

from gristmill.__main__ import main
from gristmill.derivation.derived_share import DerivedShare, derived_share
from gristmill.lake.address import Place, mix_asset, place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.verification.audit import ledger_paths_to_audit

CHAIN = (DOCUMENTS, WORDS, REVISED, STREAM, CACHE)


def shares(mill: Mill, *places: Place, names: str = "ab") -> DerivedShare:
    """The share if these shards of these partitions were derived again."""
    proven = {(each.asset, each.snapshot, name) for each in places for name in names}
    return derived_share(mill.store, ledger_paths_to_audit(mill.store), proven, ())


def size(mill: Mill, where: Place) -> int:
    """Bytes of the shards, and of the refused rows."""
    rows = table(mill, where)
    return sum(row.bytes + (row.quarantine.bytes if row.quarantine else 0) for row in rows)


def test_all_shards_of_a_chain_count_once(whole: Mill) -> None:
    share = shares(whole, *CHAIN)
    assert share.derived == {
        "documents": size(whole, DOCUMENTS) + size(whole, REVISED),
        "attributes": size(whole, WORDS),
        "mix": size(whole, STREAM),
        "token cache": size(whole, CACHE),
    }
    other = size(whole, place("sources/pages/v0/attributes/characters-1", "2024"))
    assert share.bytes == {**share.derived, "attributes": share.derived["attributes"] + other}


def test_what_was_made_from_something_that_was_not_derived_does_not_count(whole: Mill) -> None:
    without_labels = shares(whole, DOCUMENTS, REVISED, STREAM, CACHE)
    assert without_labels.derived == {
        "documents": size(whole, DOCUMENTS),
        "attributes": 0,
        "mix": 0,
        "token cache": 0,
    }
    assert sum(shares(whole, WORDS, REVISED, STREAM, CACHE).derived.values()) == 0


def test_one_shard_of_two_is_half_of_the_tokens(whole: Mill) -> None:
    share = shares(whole, *CHAIN, names="b")
    tokens = table(whole, CACHE)[0].extra["shards"]
    counts = {name: sum(bounds[3] for bounds in shard["ranges"].values()) for name, shard in tokens.items()}
    assert set(counts) == {"a", "b"}
    assert share.derived["token cache"] == size(whole, CACHE) * counts["b"] // sum(counts.values())
    assert share.derived["mix"] == next(row.bytes for row in table(whole, STREAM) if row.name == "b")


UNIQUE = """from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score

UNIQUE = Mix(
    name="unique",
    streams=(
        Stream(
            source="pages",
            version="v0",
            columns=(score("texts-1__duplicate", "duplicate", optional=True),),
            exclude=(Rule("duplicate", "duplicate = 1", "an earlier document has its text"),),
        ),
    ),
)
"""


@pytest.mark.slow
def test_a_mix_that_drops_what_a_dedupe_set_marks_is_derived_from_raw_data(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own_shelf(mill, "mixes", UNIQUE)
    own_shelf(mill, "dedupes", Path(texts.__file__).read_text())
    monkeypatch.syspath_prepend(str(mill.root.parent))
    put(mill, "a", "x", "one", "two")
    put(mill, "b", "x", "two", "six", "six")
    lake = [str(mill.root), "--shelves", "gristmill,testshelf,own_mixes,own_dedupes"]
    assert main(["make", *lake, "mixes/unique"]) == 0
    kept = read_ledger(mill.store, place(mix_asset("unique", "pages"), "b"))[0]
    assert (kept.totals["rows"], dict(kept.dropped)) == (1, {"duplicate": 2})
    capsys.readouterr()
    assert main(["verify", *lake, "--reconvert", "1", "--retag", "1", "--remix", "1"]) == 0
    *_, share, _ = capsys.readouterr().out.splitlines()
    assert share.startswith("100.0% of the ")
    assert set(re.findall(r"[0-9.]+%", share)) == {"100.0%"}


def read_nothing(mill: Mill, there: Place) -> None:
    """A ledger of the same recipe and shards that says that they were made from nothing."""
    head, rows = read_ledger(mill.store, there)
    rows = [msgspec.structs.replace(row, inputs=()) for row in rows]
    mill.store.put(there.table, pack_table(rows))
    mill.store.put(there.ledger, as_json(compose_ledger(there, head.recipe, (), rows)))


TOKENS = """from gristmill.recipes.mix import Mix, Stream

SMALL = Mix(name="small", streams=(Stream(source="notes", version="v0"),), tokenizers=("own-1",), parts={})
"""
OWN = """from gristmill.recipes.tokenizer import Tokenizer, Training

OWN = Tokenizer(name="own-1", training=Training(mix="small", snapshots={"notes": ("2024",)}, vocabulary=300))
"""
WRITTEN = """from gristmill.recipes.export import Export, Oscar

WRITTEN = Export(name="written", mixes=("small",), format=Oscar(schema={}))
"""


@pytest.mark.slow
def test_tokens_and_exports_of_another_recipe_are_not_derived(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(mill.root.parent))
    notes(mill, *(f"note-{number} has words of its own" for number in range(20)))
    lake = [str(mill.root), "--shelves", "gristmill,testshelf,own_mixes,own_tokenizers,own_exports"]

    def declare(parts: int, schema: str) -> None:
        own_shelf(mill, "mixes", TOKENS.format(parts))
        own_shelf(mill, "tokenizers", OWN)
        own_shelf(mill, "exports", WRITTEN.format(schema))

    def proven() -> tuple[list[str], dict[str, str]]:
        """The notes on what is not proven, and the shares."""
        capsys.readouterr()
        options = ["--all", "--reconvert", "1", "--retag", "1", "--remix", "1", "--reencode", "1"]
        assert main(["verify", *lake, *options]) == 0
        *lines, share, _ = capsys.readouterr().out.splitlines()
        return [line for line in lines if "not proven" in line], dict(re.findall(r"([a-z ]+) ([0-9.]+%)[,)]", share))

    declare(2, "'22.01'")
    assert main(["make", *lake, "token_caches/small", "exports/small"]) == 0
    assert proven() == ([], dict.fromkeys(["documents", " mix", " token cache", " export"], "100.0%"))
    read_nothing(mill, place("exports/small/written/notes", "2024"))
    capsys.readouterr()
    assert main(["verify", *lake, "--all", "--reencode", "1"]) == 1
    said = capsys.readouterr().out
    assert "it does not name as an input mixes/small/documents/notes 2024" in said
    assert "was made from nothing, but the recipe makes it from mixes/small/documents/notes" in said
    assert "export 0.0%" in said
    shutil.rmtree(mill.root / "exports")
    capsys.readouterr()
    assert main(["verify", *lake, "--asset", "exports/small", "--remix", "1", "--all"]) == 2
    assert main(["verify", *lake, "--reencode", "1"]) == 0
    assert "note   9 partitions that the recipes make are not in the lake, such as" in capsys.readouterr().out
    assert main(["make", *lake, "exports/small"]) == 0
    declare(10, "'23.01' ")  # Python takes files of one size and second for the same
    notes_told, share = proven()
    release = "exports/small/written/index/release.json"
    assert notes_told == [
        f"note   {release}: not proven, recipe changed: the shelves have another value of format",
        "note   token_caches/small/own-1/notes (2024): not proven, recipe changed: parts was 2, is 10",
        "note   exports/small/written/notes (2024): not proven, recipe changed: format.schema was '22.01', is '23.01'",
    ]
    assert share == {"documents": "100.0%", " mix": "100.0%", " token cache": "0.0%", " export": "0.0%"}


def test_forged_partitions_that_read_each_other_are_not_derived(whole: Mill) -> None:
    revised, _ = read_ledger(whole.store, REVISED)
    reads_itself = msgspec.structs.replace(revised, inputs=(*revised.inputs, revised.upstream))
    whole.store.put(REVISED.ledger, as_json(reads_itself))
    assert shares(whole, *CHAIN).derived == {
        "documents": size(whole, DOCUMENTS),
        "attributes": size(whole, WORDS),
        "mix": 0,
        "token cache": 0,
    }
