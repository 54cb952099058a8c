"""Dagster runs in a process of their own: `python -m bench.stages.drive arrive sources/bench/v0/documents`.

`arrive` reports the raw snapshots as the sensor does; `train` imports the tokenizer unless it is there; `job:<name>`
runs a named job, anything else is an asset, or several by commas, which one run materializes. `--inline` grinds in
this process. A line of JSON at the end says what each word cost, and what each asset's partition said of itself.
"""

import json
import sys
import time
from typing import TYPE_CHECKING, Any

BEGUN = time.process_time(), time.perf_counter()

import dagster as dg  # noqa: E402 - what importing costs is measured

from assets.support.arrivals import report_arrivals  # noqa: E402 - see above
from assets.support.keys import address_of, key_of  # noqa: E402 - see above
from bench.harness.cost import measured  # noqa: E402 - see above
from bench.harness.place import SNAPSHOT, SOURCE  # noqa: E402 - see above
from definitions import build  # noqa: E402 - see above
from gristmill.environment import Environment, read_environment  # noqa: E402 - see above
from gristmill.lake.store.open import open_store  # noqa: E402 - see above
from gristmill.recipes.catalogue import Catalogue, read_catalogue  # noqa: E402 - see above
from gristmill.stages.tokenization.files import read_tokenizer_ledger  # noqa: E402 - see above

if TYPE_CHECKING:
    from gristmill.lake.store.protocol import Store

INLINE = {"resources": {"engine": {"config": {"kind": "inline"}}}}


class Driver:
    """The definitions and the instance of this process; does what a word of the command line says."""

    def __init__(self, environment: Environment, *, inline: bool) -> None:
        self._catalogue: Catalogue = read_catalogue(environment.shelves)
        self._store: Store = open_store(environment.lake)
        self._definitions = build(environment, self._catalogue)
        self._instance = dg.DagsterInstance.get()
        self._config = INLINE if inline else {}

    def do(self, words: str) -> dict[str, Any]:
        """What came of it, by asset."""
        if words == "arrive":
            report_arrivals(self._instance, self._catalogue.sources[SOURCE], self._store)
            return {}
        if words == "train":
            if read_tokenizer_ledger(self._store, "bench-1") is None:
                self._run("bench_1_train", None)
            return {}
        if words.startswith("job:"):
            return self._run(words.removeprefix("job:"), SNAPSHOT)
        job = self._definitions.resolve_implicit_global_asset_job_def()
        return self._told(
            job.execute_in_process(
                instance=self._instance,
                partition_key=SNAPSHOT,
                asset_selection=[key_of(each) for each in words.split(",")],
                run_config=self._config,
            )
        )

    def _run(self, job: str, partition: str | None) -> dict[str, Any]:
        definition = self._definitions.resolve_job_def(job)
        config = self._config if partition else {}
        return self._told(
            definition.execute_in_process(instance=self._instance, partition_key=partition, run_config=config)
        )

    @staticmethod
    def _told(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for event in result.get_asset_materialization_events():
            record = event.step_materialization_data.materialization
            metadata = {name: value.value for name, value in record.metadata.items()}
            asset = address_of(record.asset_key)
            told[asset] = {name: metadata.get(name) for name in ("fingerprint", "shards ground", "shards kept")}
        for event in result.all_events:
            if event.is_successful_output:
                facts = event.step_output_data.metadata
                copied = {name: facts[name].value for name in ("shards tokenized", "shards copied") if name in facts}
                told.setdefault("facts", {}).update(copied)
        return told


def main() -> None:
    """Does what the command line says."""
    words = sys.argv[1:]
    driver = Driver(read_environment(), inline="--inline" in words)
    start = {"word": "start", "cpu_s": time.process_time() - BEGUN[0], "wall_s": time.perf_counter() - BEGUN[1]}
    said: list[dict[str, Any]] = [start]
    for word in words:
        if word != "--inline":
            with measured() as costs:
                told = driver.do(word)
            said.append({"word": word, **costs[0].plain(), "told": told})
    print(json.dumps(said))


if __name__ == "__main__":
    main()
