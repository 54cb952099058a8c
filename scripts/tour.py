"""make tour: three things to see on the demo's lake, in a minute.

One changed raw file is followed through to the tokens; a cut attribute row is found, by shard and row; the first
tokens of the cache are decoded, and named by the documents that they came from.
"""

import gzip
import json
import tempfile
from pathlib import Path

import dagster as dg
from tokenizers import Tokenizer as Spelled

from assets.support.keys import key_of, snapshots_of
from assets.support.mill import Mill
from definitions import build
from gristmill.dashboard.home import lock_dagster_home
from gristmill.environment import Environment
from gristmill.errors import GristmillError
from gristmill.lake.address import Place, attributes_asset, cache_asset, documents_asset, mix_asset, place, raw_folder
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.dry_run import survey_steps
from gristmill.pipeline.steps import cache_steps, mix_steps, source_steps
from gristmill.stages.tokenization.files import tokenizer_path
from gristmill.tracing.tokens import first_tokens
from scripts.mill import open_mill
from scripts.progress import say, stop

MIX, SOURCE, SET = "starter", "stdlib", "length-1"
MARK = b"\n# A line that `make tour` put here.\n"
TOKENS = 200


def change_one_file(mill: Mill, snapshot: str) -> None:
    """Adds a line to one raw file (or takes it away again), and lets the mill do what follows."""
    path = raw_folder(SOURCE, snapshot) + _first_document(mill, snapshot)
    data = mill.store.read(path)
    changed = data.removesuffix(MARK) if data.endswith(MARK) else data + MARK
    mill.store.put(path, changed)
    say(f"1. one raw file changed: {path}")
    source, mix = mill.catalogue.sources[SOURCE], mill.catalogue.mixes[MIX]
    mill.report_raw(source)
    shelves = mill.environment.shelves
    before = _fingerprints(mill, snapshot)
    mill.make_source_snapshot(source, snapshot)
    mill.make_slice(mix, SOURCE, snapshot)
    mill.make_tokens(mix, SOURCE, snapshot)
    mill.close(mix)
    for asset, rows in _fingerprints(mill, snapshot).items():
        old = before.get(asset, {})
        ground = sum(old.get(name) != content for name, content in rows.items())
        print(f"     {asset:<48} ground {ground}, kept {len(rows) - ground}")
    left = [*source_steps(mill.catalogue, source, snapshot, shelves), *mix_steps(mix, SOURCE, snapshot, shelves)]
    left += cache_steps(mill.catalogue.tokenizers_of_mix(mix), mix, SOURCE, snapshot, shelves)
    finished = all(found.state == "finished" for found in survey_steps(left, mill.store))
    say("   everything below it is as if it had never been otherwise" if finished else "   something is left to do")


def _first_document(mill: Mill, snapshot: str) -> str:
    """The id, and so the raw file, of the first document of the mix's first shard."""
    here = place(mix_asset(MIX, SOURCE), snapshot)
    _, shards = read_ledger(mill.store, here)
    rows = gzip.decompress(mill.store.read(here.shard(shards[0].name))).splitlines()
    return str(json.loads(rows[0])["id"])


def _fingerprints(mill: Mill, snapshot: str) -> dict[str, dict[str, str]]:
    """Content of each shard, by asset, of everything made from the source."""
    source, mix = mill.catalogue.sources[SOURCE], mill.catalogue.mixes[MIX]
    assets: list[str] = []
    for version in source.versions:
        assets.append(documents_asset(SOURCE, version))
        assets += [
            attributes_asset(SOURCE, version, t.name) for t in mill.catalogue.taggers_of_version(source, version)
        ]
    assets.append(mix_asset(MIX, SOURCE))
    assets += [cache_asset(MIX, t.name, SOURCE) for t in mill.catalogue.tokenizers_of_mix(mix)]
    return {
        asset: {row.name: row.content for row in read_ledger(mill.store, place(asset, snapshot))[1]} for asset in assets
    }


def cut_one_row(mill: Mill, snapshot: str) -> None:
    """In a copy: one attribute row is taken away, and the audit of the alignment check is run in Dagster."""
    version = mill.catalogue.sources[SOURCE].current
    documents = place(documents_asset(SOURCE, version), snapshot)
    attributes = place(attributes_asset(SOURCE, version, SET), snapshot)
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        lake.mkdir()
        copy = open_store(str(lake))
        for here in (documents, attributes):
            _copy(mill.store, copy, here)
        shard = read_ledger(copy, attributes)[1][0].name
        rows = gzip.decompress(copy.read(attributes.shard(shard))).splitlines(keepends=True)
        missing = len(rows) // 2
        copy.put(attributes.shard(shard), gzip.compress(b"".join(rows[:missing] + rows[missing + 1 :]), mtime=0))
        say(f"2. row {missing} of {attributes.shard(shard)} cut away, in a copy of the lake")
        result = _audit(mill, Path(folder), attributes)
        say(f"   check row_alignment_audit {'passed' if result.passed else 'FAILED'}: {result.description}")
        if result.passed:
            stop("the check should have failed")


def _copy(store: Store, copy: Store, here: Place) -> None:
    for prefix in (here.folder, f"{here.ledger_stem}."):
        top = prefix if prefix.endswith("/") else prefix.rpartition("/")[0] + "/"
        for entry in store.list(top):
            if entry.path.startswith(prefix):
                copy.put(entry.path, store.read(entry.path))


def _audit(mill: Mill, folder: Path, here: Place) -> dg.AssetCheckEvaluation:
    """The audit twin, executed as the UI does, with the copy as its lake and an instance of its own."""
    environment = Environment(
        lake=str(folder / "lake"), shelves=mill.environment.shelves, workers=1, endpoint="", region=""
    )
    definitions = build(environment, mill.catalogue)
    check = dg.AssetCheckKey(key_of(here.asset), "row_alignment_audit")
    job = dg.define_asset_job("audit", selection=dg.AssetSelection.checks(check))
    merged = dg.Definitions.merge(definitions, dg.Definitions(jobs=[job]))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(snapshots_of(SOURCE).name or "", [here.snapshot])
        result = merged.resolve_job_def("audit").execute_in_process(
            instance=instance,
            tags={"dagster/partition": here.snapshot},
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        return result.get_asset_check_evaluations()[0]


def decode_first_tokens(mill: Mill) -> None:
    """The first tokens of the cache, and whose they are."""
    mix = mill.catalogue.mixes[MIX]
    tokenizer = mill.catalogue.tokenizers_of_mix(mix)[0]
    spelled = Spelled.from_str(mill.store.read(tokenizer_path(tokenizer.name)).decode())
    say(f"3. the first {TOKENS} tokens of {cache_asset(MIX, tokenizer.name, SOURCE)}:")
    for traced in first_tokens(mill.store, MIX, tokenizer.name, SOURCE, TOKENS):
        end = traced.offset + len(traced.ids)
        print(f"     tokens {traced.offset}-{end}: {traced.source} {traced.id!r}")
        print(f"       (snapshot {traced.snapshot}, shard {traced.shard}, {traced.part})")
        for line in spelled.decode(list(traced.ids), skip_special_tokens=False).splitlines():
            print(f"       | {line}")


def main() -> None:
    """Runs the tour."""
    mill = open_mill()
    mill.show_lake()
    snapshots = mill.report_raw(mill.catalogue.sources[SOURCE])
    if not snapshots:
        stop("the lake is empty: run `make demo` first")
    with lock_dagster_home(Path(mill.environment.home), say):
        change_one_file(mill, snapshots[-1])
        cut_one_row(mill, snapshots[-1])
        decode_first_tokens(mill)
    print(f"\nWhat the rules keep and drop:  python -m gristmill sample {mill.store.url} {MIX}")
    print(f"The whole lake, from its bytes: python -m gristmill verify {mill.store.url}\n")


if __name__ == "__main__":
    try:
        main()
    except GristmillError as error:
        stop(str(error))
