"""make demo: the main job on real input, through real Dagster runs; then what was made, and where it lies."""

import argparse
import time
from pathlib import Path

from assets.support.keys import LAKE
from assets.support.mill import Mill
from gristmill.acquisition.real_input import INSTALLED, Acquired, acquire_installed, acquire_packages, acquire_stdlib
from gristmill.dashboard.home import lock_dagster_home
from gristmill.environment import CHECKOUT
from gristmill.errors import GristmillError
from gristmill.lake.address import blocklist_path, export_index
from gristmill.lake.ledger.files import list_ledgers, read_head
from gristmill.lake.store.protocol import Store
from scripts.mill import open_mill
from scripts.progress import say, stop

MIX = "starter"
METADATASET = f"{export_index(MIX, 'energon')}/metadataset.yaml"
TAKEDOWN = b'{"source":"stdlib","id":"this.py","reason":"an example of a takedown request"}\n'


def acquire(store: Store, cache: Path, *, offline: bool) -> list[Acquired]:
    """The raw data of the demo: the standard library, and three editions of packages or what is installed."""

    def have(path: str) -> int | None:
        entry = store.head(path)
        return entry.size if entry else None

    got = [acquire_stdlib(store.put, have, say)]
    locks = [] if offline else sorted((CHECKOUT / "requirements").glob("packages-*.txt"))
    for lock in locks:
        got.append(acquire_packages(store.put, have, say, cache=cache, requirements=lock))
        if got[-1].trouble:
            break
    if len(got) == 1 or got[-1].trouble:
        got.append(acquire_installed(store.put, have, say))
    if have(blocklist_path("takedowns")) is None:
        store.put(blocklist_path("takedowns"), TAKEDOWN)
    for each in got:
        say(str(each))
    return got


def grind(mill: Mill, name: str = MIX) -> None:
    """Models, then raw to tokens of a mix, over every snapshot there is. Duplicates are found before it is made."""
    mix = mill.catalogue.mixes[name]
    snapshots = {stream.key: mill.report_raw(mill.catalogue.sources[stream.source]) for stream in mix.streams}
    for model in mill.catalogue.models.values():
        if model.training is not None:
            mill.make_folder(mill.catalogue.labels[model.training.labels])
        mill.make_folder(model)
    slices = [(stream, snapshot) for stream in mix.streams for snapshot in snapshots[stream.key]]
    for stream, snapshot in slices:
        mill.make_source_snapshot(mill.catalogue.sources[stream.source], snapshot)
    for dedupe in mill.catalogue.dedupes.values():
        mill.resolve(dedupe)
    for stream, snapshot in slices:
        mill.make_slice(mix, stream.key, snapshot)
    for tokenizer in mill.catalogue.tokenizers_of_mix(mix):
        named = tokenizer.training.snapshots if tokenizer.training else {}
        there = all(key in snapshots[stream] for stream, keys in named.items() for key in keys)
        mill.train(tokenizer, {} if there else {"packages": [INSTALLED], "stdlib": snapshots["stdlib"][-1:]})
    for stream, snapshot in slices:
        mill.make_tokens(mix, stream.key, snapshot)
    mill.close(mix)


def summary(mill: Mill) -> None:
    """What lies in the lake, by the ledgers."""
    print(f"\n{'asset':<58}{'snapshot':<11}{'shards':>7}{'rows':>8}{'MB':>8}  dropped, tokens")
    rows = documents = tokens = 0
    for place in list_ledgers(mill.store):
        ledger = read_head(mill.store, place)
        if ledger is None:
            continue
        total = ledger.totals
        rows += total["rows"]
        documents += total["rows"] if place.asset.endswith("v0/documents") else 0
        tokens += total.get("tokens", 0)
        said = ", ".join(f"{reason}: {n}" for reason, n in ledger.dropped.items())
        spelled = f"{total['tokens']:,} tokens" if "tokens" in total else said
        size = total["bytes"] / 1e6
        print(
            f"{place.asset:<58}{place.snapshot:<11}{total['shards']:>7}{total['rows']:>8}{size:>8.2f}  {spelled[:90]}"
        )
    print(f"\n{documents:,} documents converted, {rows:,} rows written, {tokens:,} tokens")


def opening_line(lake: str) -> str:
    """The line of Python that opens the export with the real Megatron-Energon."""
    worker = "megatron.energon.WorkerConfig(rank=0, world_size=1, num_workers=0)"
    return f'megatron.energon.get_val_dataset("{lake}/{METADATASET}", worker_config={worker}, batch_size=4)'


def main() -> None:
    """Runs the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="download nothing: stdlib and installed packages")
    parser.add_argument("--cache", type=Path, default=CHECKOUT / ".cache" / "packages")
    options = parser.parse_args()
    mill = open_mill()
    say(f"the lake is {mill.store.url}")
    with lock_dagster_home(Path(mill.environment.home), say):
        acquire(mill.store, options.cache, offline=options.offline)
        mill.show_lake()
        start = time.monotonic()
        grind(mill)
        if mill.runs:
            mill.materialize([LAKE], None)
        took = time.monotonic() - start
    summary(mill)
    if mill.runs:
        say(f"{mill.runs} runs in {took:.1f} s; {sum(mill.checks)} of {len(mill.checks)} checks passed")
    else:
        say(f"nothing to do: all {mill.kept} partitions and tokenizers are finished, by their ledgers")
    same = "" if mill.environment.lake == str(CHECKOUT / "lake") else " (with the same GRISTMILL_LAKE)"
    print(f"\nThe lake:  {mill.store.url}\nThe UI:    make ui{same}, then http://127.0.0.1:3000/assets")
    print(f"Energon:   {opening_line(mill.store.url)}")
    print(f"Next:      make tour{same}\n")


if __name__ == "__main__":
    try:
        main()
    except GristmillError as error:
        stop(str(error))
