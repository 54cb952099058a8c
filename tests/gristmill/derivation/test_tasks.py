"""What `verify` derives again when it is asked to, what it leaves out, and what it says of that."""

import gzip
import hashlib
import json

import msgspec
import pytest
from lies import audit
from testkit import SHELVES, SNAPSHOT, Mill, make_documents, packed
from wholelake import CACHE, DOCUMENTS, REVISED, STREAM, WORDS, reseal, reseal_shard, table

from gristmill.__main__ import main
from gristmill.derivation.tasks import DerivationResult, DerivationTask, derivation_tasks, derive_task
from gristmill.execution.finding import Finding
from gristmill.lake.address import place
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.verification.audit import ledger_paths_to_audit

ALL = ShardSample(1)
SAMPLES = dict.fromkeys(("reconvert", "retag", "remix"), ALL)
OPTIONS = ("--reconvert", "1", "--retag", "1", "--remix", "1", "--reencode", "1")
CHARACTERS = place("sources/pages/v0/attributes/characters-1", SNAPSHOT)
HERE = ("--shelves", "gristmill,testshelf", "--all")


def findings(mill: Mill, sample: ShardSample = ALL) -> dict[str, list[str]]:
    """The findings of all tasks, by the first asset; their notes are in `said`."""
    mill.said.clear()
    paths = ledger_paths_to_audit(mill.store)
    tasks = derivation_tasks(mill.lake, SHELVES, paths, dict.fromkeys(SAMPLES, sample), mill.said.append, [])
    found: dict[str, list[str]] = {}
    for result in (derive_task(mill.lake, SHELVES, task, first_only=False) for task in tasks):
        found[result.task.assets[0]] = [str(each) for each in result.findings]
        mill.said += result.notes
    return found


def half() -> ShardSample:
    """The first sample of a half that has shard b, and not shard a."""
    samples = (ShardSample(0.5, seed) for seed in range(99))
    return next(each for each in samples if each.contains_shard("2024", "b") and not each.contains_shard("2024", "a"))


def test_a_good_lake_has_no_findings_and_says_what_no_shelf_makes(whole: Mill) -> None:
    before = whole.stamps()
    assert findings(whole) == {
        DOCUMENTS.asset: [],
        WORDS.asset: [],
        REVISED.asset: [],
        STREAM.asset: [],
    }
    assert whole.said == [
        "sources/pages/v0/attributes/characters-1 (2024): not proven, no recipe on the shelves makes it"
    ]
    assert whole.stamps() == before


def test_tokens_alone_ask_for_no_task_and_no_word_of_other_assets(whole: Mill) -> None:
    paths = ledger_paths_to_audit(whole.store)
    assert list(derivation_tasks(whole.lake, SHELVES, paths, {"reencode": ALL}, whole.said.append, [])) == []
    assert whole.said == []


def test_one_seed_draws_the_same_shards_of_all_assets(whole: Mill) -> None:
    tasks = derivation_tasks(
        whole.lake, SHELVES, ledger_paths_to_audit(whole.store), dict.fromkeys(SAMPLES, half()), whole.said.append, []
    )
    results = [derive_task(whole.lake, SHELVES, task, first_only=False) for task in tasks]
    assert [each.drawn for each in results] == [1, 1, 1, 1]
    assert {name for each in results for _, _, name in each.proven} == {"b"}


def test_other_code_is_not_run_for_a_proof(whole: Mill) -> None:
    for where in (DOCUMENTS, WORDS):
        note = json.loads(whole.store.read(where.run))
        assert list(note["codes"].values()) == [""]
        whole.store.put(where.run, json.dumps({**note, "codes": {"0123-45": ""}}).encode())
    assert findings(whole)[DOCUMENTS.asset] == []
    told = [f"{where.asset} (2024): not proven, code changed" for where in (DOCUMENTS, WORDS)]
    assert [note for note in whole.said if "code" in note] == told


def test_refused_rows_are_compared(whole: Mill) -> None:
    path = DOCUMENTS.quarantine_path("a")
    [row] = whole.lines(path)
    data = packed([row.replace(b"no document", b"my document")])
    whole.store.put(path, data)
    [shard, _] = table(whole, DOCUMENTS)
    assert shard.quarantine is not None
    sealed = msgspec.structs.replace(shard.quarantine, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    reseal_shard(whole, DOCUMENTS, "a", quarantine=sealed)
    assert audit(whole)[0] == []
    [finding] = findings(whole)[DOCUMENTS.asset]
    assert finding.startswith(f"{path}: row 0: a row without an id: its raw differs")


def test_raw_spans_are_compared(whole: Mill) -> None:
    path, [shard, _] = DOCUMENTS.index("a"), table(whole, DOCUMENTS)
    data = whole.store.read(path)
    cut = (HASH_BYTES + ROW_BYTES) * shard.rows
    plain = bytearray(gzip.decompress(data[cut:]))
    plain[-1] -= 1
    forged = data[:cut] + gzip.compress(bytes(plain), mtime=0)
    whole.store.put(path, forged)
    reseal_shard(whole, DOCUMENTS, "a", index=hashlib.sha256(forged).hexdigest())
    assert audit(whole)[0] == []
    [finding] = findings(whole)[DOCUMENTS.asset]
    assert finding.startswith(f"{path}: its raw spans are not those made again")


def test_a_raw_object_that_changed_or_went_is_a_finding(whole: Mill) -> None:
    whole.raw("a.jsonl.gz", make_documents(20))
    found = findings(whole)[DOCUMENTS.asset]
    assert found[0].startswith(f"{DOCUMENTS.table}: shard a was made from sources/pages/raw/a.jsonl.gz as ")
    assert found[1].startswith(f"{DOCUMENTS.quarantine_path('a')}: row 0: a row without an id is here")
    whole.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    [finding] = findings(whole)[DOCUMENTS.asset]
    assert finding.startswith(f"{DOCUMENTS.table}: shard a: nothing that the recipe reads makes it")
    whole.store.delete(["sources/pages/raw/2024/b.jsonl.gz"])
    [finding] = findings(whole)[DOCUMENTS.asset]
    assert "snapshot 2024 has no raw objects that the source reads" in finding


def test_a_shard_that_the_ledger_does_not_name_is_missed(whole: Mill) -> None:
    reseal(whole, STREAM, [row for row in table(whole, STREAM) if row.name != "b"])
    whole.store.delete([STREAM.shard("b"), STREAM.index("b")])
    found = findings(whole)[STREAM.asset]
    assert [each.partition(" (")[0] for each in found] == [
        f"{STREAM.table}: shard b: the recipe makes it, but the ledger does not name it"
    ]


def test_verify_ends_with_the_share_that_follows_from_raw_data(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    made = (DOCUMENTS, REVISED, STREAM, WORDS, CHARACTERS, CACHE)
    sizes = {  # of the ledgers: processors compress the same lines to different sizes
        where: sum(row.bytes + (row.quarantine.bytes if row.quarantine else 0) for row in table(whole, where))
        for where in made
    }
    total, derived = sum(sizes.values()), sum(sizes[where] for where in made[:4])
    sets = 1000 * sizes[WORDS] // (sizes[WORDS] + sizes[CHARACTERS]) / 10
    assert main(["verify", str(whole.root), *HERE, *OPTIONS]) == 0
    *_, note, share, proven = capsys.readouterr().out.splitlines()
    assert note == f"note   {CACHE.asset} (2024): not proven, no recipe on the shelves makes it"
    assert share == (
        f"{1000 * derived // total / 10}% of the {total:,} bytes of all shards were derived again from raw data"
        f" (documents 100.0%, attributes {sets}%, mix 100.0%, token cache 0.0%)"
    )
    assert proven == "8 of 8 ledgers proven, 0 findings"
    assert main(["verify", str(whole.root), *HERE, "--remix", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].startswith(f"0.0% of the {total:,} bytes")


@pytest.mark.slow
def test_other_processes_derive_the_same(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    for workers in ("1", "2"):
        assert main(["verify", str(whole.root), *HERE, *OPTIONS, "--workers", workers]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_proof_of_nothing_is_none(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(whole.root), "--all", *OPTIONS[:2]]) == 2
    told = capsys.readouterr()
    assert "sources/pages/v0/documents (2024): not proven, no recipe on the shelves makes it" in told.out
    assert "no shard was derived again: give a larger share" in told.err


def test_a_draw_is_shown_and_repeated(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    seed = str(
        next(
            n
            for n in range(99)
            if ShardSample(0.5, n).contains_shard("2024", "b") > ShardSample(0.5, n).contains_shard("2024", "a")
        )
    )
    main(["verify", str(whole.root), *HERE, "--retag", "0.5", "--seed", seed])
    said = capsys.readouterr().out
    assert f"note   the shards are drawn by --seed {seed}\n" in said
    assert "derived sources/pages/v0/attributes/words-1 (2024): 1 shards\n" in said


def test_a_ledger_whose_shard_differs_is_not_proven(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    reseal_shard(whole, STREAM, "b", dropped={"another reason": 4})
    given = ["verify", str(whole.root), *HERE, "--asset", "mixes"]
    assert main(given) == 0
    assert capsys.readouterr().out.endswith("1 of 1 ledgers proven, 0 findings\n")
    assert main([*given, "--remix", "1"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert f"WRONG  {STREAM.asset} (2024): 2 shards" in said
    assert said[-1].startswith("0 of 1 ledgers proven, ")


def test_a_set_that_differs_leaves_its_neighbours_proven() -> None:
    task = DerivationTask((WORDS.asset, STREAM.asset), WORDS.snapshot, ALL)
    for path, ledgers in (
        (WORDS.shard("a"), {WORDS.ledger}),
        (WORDS.table, {WORDS.ledger}),
        ("/elsewhere/a.jsonl.gz", {WORDS.ledger, STREAM.ledger}),
    ):
        assert DerivationResult(task, [], [Finding(path, None, "")], 1, frozenset()).unproven_ledgers == ledgers
