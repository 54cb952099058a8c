"""The mill as the scripts drive it: real Dagster runs, launched only where the ledgers say that there is work."""

import fcntl
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from assets.jobs import index_name, journey_name, refresh_name
from assets.support.arrivals import report_arrivals
from assets.support.keys import key_of, plain
from assets.support.lake_identity import is_shown, shown_lake
from assets.support.last_reading import AS_OF
from definitions import build
from gristmill.environment import CHECKOUT, Environment, read_environment
from gristmill.execution.step import Step
from gristmill.lake.address import mix_asset, tokenizer_asset
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.dry_run import survey_steps
from gristmill.pipeline.steps import cache_steps, mix_steps, source_steps
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.token_cache.index import is_closed
from gristmill.stages.tokenization.files import read_tokenizer_ledger
from scripts.progress import progress_logger, say, stop


def dagster_home() -> str:
    """DAGSTER_HOME, by default `.dagster/` in the checkout, with our dagster.yaml."""
    home = os.environ.setdefault("DAGSTER_HOME", str(CHECKOUT / ".dagster"))
    os.makedirs(home, exist_ok=True)  # noqa: PTH103 - a string from the environment
    target = os.path.join(home, "dagster.yaml")  # noqa: PTH118 - see above
    if not os.path.exists(target):  # noqa: PTH110 - see above
        shutil.copyfile(CHECKOUT / "dagster.yaml", target)
    return home


def _instance(home: str) -> dg.DagsterInstance:
    """Dagster's instance, opened by one process at a time: two that create its files at once spoil them for good."""
    with Path(home, ".opening").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return dg.DagsterInstance.get()


@dataclass
class Mill:
    """The lake, the catalogue and Dagster's instance of this checkout.

    Attributes:
        runs: runs launched so far.
        kept: partitions that were found finished.
        checks: whether each check passed that these runs evaluated; repeated results do not count.
    """

    environment: Environment
    catalogue: Catalogue
    store: Store
    instance: dg.DagsterInstance
    definitions: dg.Definitions
    runs: int = 0
    kept: int = 0
    checks: list[bool] = field(default_factory=list)

    def show(self) -> None:
        """Makes Dagster show this lake, if it does not yet."""
        if not is_shown(self.instance, self.store):
            say(
                "this Dagster has never seen this lake"
                if shown_lake(self.instance) is None
                else "this Dagster has shown another lake"
            )
            self.run("sync")

    def arrive(self, source: Source) -> list[str]:
        """Reports a source's raw snapshots, as its sensor does; all that there are."""
        report_arrivals(self.instance, source, self.store)
        return sorted(self.instance.get_dynamic_partitions(f"snapshots/{source.name}"))

    def run(self, job: str, partition: str | None = None, config: dict[str, Any] | None = None) -> None:
        """One real run of a named job; stops the script when it fails."""
        say(f"run {job}{f' of {partition}' if partition else ''}")
        definition = self.definitions.resolve_job_def(job)
        self._finish(job, definition.execute_in_process(**self._options(partition, config)))

    def materialize(self, address: str, partition: str) -> None:
        """One real run of one asset, as "Materialize" in the UI launches it."""
        say(f"materialize {address} of {partition}")
        definition = self.definitions.resolve_implicit_global_asset_job_def()
        options = self._options(partition, None)
        self._finish(address, definition.execute_in_process(asset_selection=[key_of(address)], **options))

    def _options(self, partition: str | None, config: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "partition_key": partition,
            "run_config": {**(config or {}), "loggers": {"progress": {}}},
            "raise_on_error": False,
        }

    def _finish(self, job: str, result: dg.ExecuteInProcessResult) -> None:
        self.runs += 1
        self.checks += [each.passed for each in result.get_asset_check_evaluations() if AS_OF not in each.metadata]
        if not result.success:
            for event in result.all_events:
                if event.is_step_failure:
                    say(f"failed: {event.step_key}: {event.step_failure_data.error_display_string[:2000]}")
            stop(f"run {result.run_id} of {job} failed; `make ui` shows it")

    def needed(self, what: str, partition: str, steps: Iterable[Step]) -> bool:
        """Whether there is work, by the ledgers; and says so."""
        found = survey_steps(steps, self.store)
        due = next((each for each in found if each.state != "finished"), None)
        if due is None:
            self.kept += len(found)
            say(f"{what} of {partition}: {len(found)} finished; nothing to do")
            return False
        say(f"{what} of {partition}: {due.asset}: {'; '.join(due.why)}")
        return True

    def journey(self, source: Source, snapshot: str) -> None:
        """Raw to the newest version and its attribute sets."""
        steps = source_steps(self.catalogue, source, snapshot, self.environment.shelves)
        if self.needed(journey_name(source.name), snapshot, steps):
            self.run(journey_name(source.name), snapshot)

    def mix(self, mix: Mix, stream: str, snapshot: str) -> None:
        """A mix's slice: its documents."""
        address = mix_asset(mix.name, stream)
        if self.needed(address, snapshot, mix_steps(mix, stream, snapshot, self.environment.shelves)):
            self.materialize(address, snapshot)

    def spell(self, mix: Mix, stream: str, snapshot: str) -> None:
        """A mix's slice: its tokens."""
        steps = cache_steps(self.catalogue.tokenizers_of(mix), mix, stream, snapshot, self.environment.shelves)
        if self.needed(refresh_name(mix.name, stream), snapshot, steps):
            self.run(refresh_name(mix.name, stream), snapshot)

    def train(self, tokenizer: Tokenizer, slices: dict[str, Sequence[str]]) -> None:
        """A tokenizer, if it is not there."""
        if read_tokenizer_ledger(self.store, tokenizer.name) is not None:
            self.kept += 1
            say(f"tokenizer {tokenizer.name} is there; nothing to do")
            return
        node = "__".join(key_of(tokenizer_asset(tokenizer.name)).path).replace("-", "_")
        config = {"ops": {node: {"config": {"snapshots": {k: list(v) for k, v in slices.items()}}}}} if slices else {}
        self.run(f"{plain(tokenizer.name)}_train", config=config)

    def close(self, mix: Mix) -> None:
        """The indexes of a mix and its caches, unless they are as they would be closed now."""
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        known = {key: self.instance.get_dynamic_partitions(f"snapshots/{each.name}") for key, each in sources.items()}
        if not is_closed(self.store, mix, self.catalogue.tokenizers_of(mix), sources, known):
            self.run(index_name(mix.name))


def open_mill(environment: Environment | None = None) -> Mill:
    """The mill of this checkout."""
    home = dagster_home()
    environment = environment or read_environment()
    catalogue = read_catalogue(environment.shelves)
    definitions = build(environment, catalogue, loggers={"progress": progress_logger})
    return Mill(
        environment=environment,
        catalogue=catalogue,
        store=open_store(environment.lake, environment.options),
        instance=_instance(home),
        definitions=definitions,
    )
