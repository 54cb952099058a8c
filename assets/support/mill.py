"""Real Dagster runs in this process, launched only where the ledgers say that there is work."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from assets.jobs import index_name, journey_name
from assets.support.arrivals import report_arrivals
from assets.support.keys import key_of, plain_name, snapshots_of
from assets.support.lake_identity import is_shown, shown_lake
from assets.support.last_reading import AS_OF
from assets.support.progress import PROGRESS, progress_logger
from assets.support.runs.in_process import execute_in_process
from gristmill.dashboard.home import prepare_dagster_home
from gristmill.environment import Environment
from gristmill.errors import DataError
from gristmill.execution.step import Step
from gristmill.execution.work import Say
from gristmill.lake.address import mix_asset, tokenizer_asset
from gristmill.lake.asset_kinds import TOKENIZER, kind_of, names_in_asset_address
from gristmill.lake.store.disk.file_lock import open_locked
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.dry_run import Prospect, survey_steps
from gristmill.pipeline.indexes import MixIndexes
from gristmill.pipeline.models import model_state
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.steps import cache_steps, export_steps, mix_steps, source_steps
from gristmill.pipeline.tasks import FolderTask, IndexTask, ResolutionTask, TokenizerTask
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.mix import Mix
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import unresolved_reasons
from gristmill.stages.models.ledger import model_address
from gristmill.stages.tokenization.files import read_tokenizer_ledger

Build = Callable[..., dg.Definitions]
"""`build` of definitions.py, which nothing below it imports."""


def _instance(home: Path) -> dg.DagsterInstance:
    """Dagster's instance, opened by one process at a time: two that create its files at once spoil them for good."""
    lock = open_locked(home / ".opening", os.O_RDWR | os.O_CREAT)
    try:
        return dg.DagsterInstance.from_config(str(home))
    finally:
        os.close(lock)


@dataclass
class Mill:
    """A lake, its catalogue and Dagster's instance.

    Attributes:
        say: function that takes lines of progress.
        runs: runs launched so far.
        kept: partitions that were found finished.
        checks: whether each check passed that these runs evaluated; repeated results do not count.
    """

    environment: Environment
    catalogue: Catalogue
    store: Store
    instance: dg.DagsterInstance
    definitions: dg.Definitions
    say: Say
    runs: int = 0
    kept: int = 0
    checks: list[bool] = field(default_factory=list)

    def show_lake(self) -> None:
        """Makes Dagster show this lake, if it does not yet."""
        if not is_shown(self.instance, self.store):
            self.say(
                "this Dagster has never seen this lake"
                if shown_lake(self.instance) is None
                else "this Dagster has shown another lake"
            )
            self.run("sync")

    def report_raw(self, source: Source) -> list[str]:
        """Reports a source's raw snapshots, as its sensor does; all that there are.

        Returns:
            The keys of all snapshots of the source that Dagster knows, sorted.
        """
        report_arrivals(self.instance, source, self.store)
        return sorted(self.instance.get_dynamic_partitions(f"snapshots/{source.name}"))

    def make(self, planner: Planner) -> list[str]:
        """Launches a run for each part of a plan that is due. The job `sync` must have registered the snapshots.

        Steps of one snapshot that follow each other are one run.

        Returns:
            A line for each partition that is refused, wrong or must wait.

        Raises:
            DataError: a run failed.
        """
        strays = (*planner.strays, *planner.unlisted)
        left = [_line(each) for each in strays]
        together: list[Prospect] = []
        slice_: tuple[str, str] | None = None
        for task in planner.tasks():
            here = (
                None if isinstance(task, TokenizerTask | FolderTask | IndexTask | ResolutionTask) else self._slice(task)
            )
            if here is None or here != slice_:  # what comes next is surveyed after what it is made from
                self._launch(planner, together)
            slice_ = here
            together += self._due(planner.survey_task(task), left)
        self._launch(planner, together)
        return left

    def _slice(self, step: Step) -> tuple[str, str]:
        """The source and the snapshot of a step: its partition in Dagster."""
        return self._sources[step.makes[0]], step.snapshot

    @cached_property
    def _sources(self) -> dict[str, str]:
        return dict(self.catalogue.partitioned_assets())

    def _due(self, prospects: Iterable[Prospect], left: list[str]) -> Iterator[Prospect]:
        for prospect in prospects:
            if prospect.state == "finished":
                self.kept += 1
            elif prospect.state not in {"make", "follow"}:
                left.append(_line(prospect))
            elif prospect.snapshot and not self._is_registered(prospect):
                left.append(
                    f"{prospect.asset} ({prospect.snapshot}): its raw data are not complete yet; see its source"
                )
            else:
                yield prospect

    def _is_registered(self, prospect: Prospect) -> bool:
        keys = snapshots_of(self._sources[prospect.asset]).name or ""
        return self.instance.has_dynamic_partition(keys, prospect.snapshot)

    def _launch(self, planner: Planner, together: list[Prospect]) -> None:
        """One run for partitions of one snapshot, or for one asset without partitions. Empties the list."""
        for prospect in together:
            self.say(_line(prospect))
        if together:
            trained = names_in_asset_address(together[0].asset) if kind_of(together[0].asset) is TOKENIZER else {}
            if trained:
                self.run(f"{plain_name(trained['tokenizer'])}_train")
            else:
                self.materialize([prospect.asset for prospect in together], together[0].snapshot or None)
        for prospect in together:
            planner.states.note_made(prospect.asset, prospect.snapshot)
        together.clear()

    def run(self, job: str, partition: str | None = None, config: dict[str, Any] | None = None) -> None:
        """One real run of a named job.

        Raises:
            DataError: it failed.
        """
        self.say(f"run {job}{f' of {partition}' if partition else ''}")
        definition = self.definitions.resolve_job_def(job)
        self._finish(job, execute_in_process(self.instance, definition, partition, _config(config)))

    def materialize(self, addresses: Sequence[str], partition: str | None) -> None:
        """One real run of some assets, as "Materialize" in the UI launches it.

        Raises:
            DataError: it failed.
        """
        named = addresses[0] if len(addresses) == 1 else f"{len(addresses)} assets"
        self.say(f"materialize {named}{f' of {partition}' if partition else ''}")
        definition = self.definitions.resolve_implicit_global_asset_job_def()
        selection = [key_of(address) for address in addresses]
        self._finish(named, execute_in_process(self.instance, definition, partition, _config(None), selection))

    def _finish(self, job: str, result: dg.JobExecutionResult) -> None:
        self.runs += 1
        self.checks += [each.passed for each in result.get_asset_check_evaluations() if AS_OF not in each.metadata]
        if not result.success:
            for event in result.all_events:
                if event.is_step_failure:
                    told = event.step_failure_data.user_failure_data
                    words = told.description if told else event.step_failure_data.error_display_string
                    for line in f"failed: {event.step_key}: {words}"[:2000].splitlines():
                        self.say(line)
            raise DataError(f"run {result.run_id} of {job} failed: see Runs in the UI; what was made is kept")

    def needed(self, what: str, partition: str, steps: Iterable[Step]) -> bool:
        """Whether there is work, by the ledgers; and says so."""
        found = survey_steps(steps, self.store)
        due = next((each for each in found if each.state != "finished"), None)
        if due is None:
            self.kept += len(found)
            self.say(f"{what} of {partition}: {len(found)} finished; nothing to do")
            return False
        self.say(f"{what} of {partition}: {due.asset}: {'; '.join(due.why)}")
        return True

    def make_source_snapshot(self, source: Source, snapshot: str) -> None:
        """Raw to the newest version, its attribute sets and its fingerprints."""
        every = source_steps(self.catalogue, source, snapshot, self.environment.shelves)
        steps = [step for step in every if not isinstance(step, DedupeLabelsStep)]  # they follow a resolution
        if self.needed(journey_name(source.name), snapshot, steps):
            self.run(journey_name(source.name), snapshot)

    def resolve(self, dedupe: Dedupe) -> None:
        """A dedupe recipe: its resolution, then the sets of the snapshots whose marks changed."""
        if unresolved_reasons(self.store, dedupe, self.catalogue.edition_sources_of_dedupe(dedupe)):
            self.materialize([dedupe.asset], None)
        for source in dedupe.versions:
            for snapshot in sorted(self.instance.get_dynamic_partitions(snapshots_of(source).name or "")):
                step = DedupeLabelsStep(dedupe, source, snapshot, self.environment.shelves)
                if self.needed(step.asset, snapshot, [step]):
                    self.materialize([step.asset], snapshot)

    def make_slice(self, mix: Mix, stream: str, snapshot: str) -> None:
        """A mix's slice: its documents."""
        address = mix_asset(mix.name, stream)
        if self.needed(address, snapshot, mix_steps(mix, stream, snapshot, self.environment.shelves)):
            self.materialize([address], snapshot)

    def make_tokens(self, mix: Mix, stream: str, snapshot: str) -> None:
        """A mix's slice: its tokens, and its exports."""
        shelves = self.environment.shelves
        steps = [
            *cache_steps(self.catalogue.tokenizers_of_mix(mix), mix, stream, snapshot, shelves),
            *export_steps(self.catalogue.exports_of_mix(mix), mix, stream, snapshot, shelves),
        ]
        if self.needed(f"tokens and exports of {mix.name}/{stream}", snapshot, steps):
            self.materialize([asset for step in steps for asset in step.makes], snapshot)

    def train(self, tokenizer: Tokenizer, slices: dict[str, Sequence[str]]) -> None:
        """A tokenizer, if it is not there."""
        if read_tokenizer_ledger(self.store, tokenizer.name) is not None:
            self.kept += 1
            self.say(f"tokenizer {tokenizer.name} is there; nothing to do")
            return
        node = "__".join(key_of(tokenizer_asset(tokenizer.name)).path).replace("-", "_")
        config = {"ops": {node: {"config": {"snapshots": {k: list(v) for k, v in slices.items()}}}}} if slices else {}
        self.run(f"{plain_name(tokenizer.name)}_train", config=config)

    def make_folder(self, recipe: LabelledSet | Model) -> None:
        """A labelled set or a model, if it is not there as its recipe says."""
        address, found = model_address(recipe), model_state(self.store, recipe)
        if found.state == "finished":
            self.kept += 1
            self.say(f"{address} is there; nothing to do")
            return
        self.materialize([address], None)

    def close(self, mix: Mix) -> None:
        """The indexes of a mix, its caches and its exports, unless they are as they would be closed now."""
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        known = {key: self.instance.get_dynamic_partitions(f"snapshots/{each.name}") for key, each in sources.items()}
        exports = self.catalogue.exports_of_mix(mix)
        indexes = MixIndexes(mix, self.catalogue.tokenizers_of_mix(mix), sources, known, exports)
        if any(indexes.why_open(self.store, address) for address in indexes.addresses):
            self.run(index_name(mix.name))


def _config(config: dict[str, Any] | None) -> dict[str, Any]:
    return {**(config or {}), "loggers": {PROGRESS: {}}}


def _line(prospect: Prospect) -> str:
    where = f"{prospect.asset} ({prospect.snapshot})" if prospect.snapshot else prospect.asset
    return f"{prospect.state} {where}: {'; '.join(prospect.why)}"


def open_mill(build: Build, environment: Environment, say: Say) -> Mill:
    """The mill of an environment. Its DAGSTER_HOME is made if it is not there.

    Args:
        build: function that makes the definitions: that of definitions.py.
        environment: lake, shelves and DAGSTER_HOME.
        say: function that takes lines of progress.

    Raises:
        RecipeError: a declaration is not valid.
    """
    home = prepare_dagster_home(environment)
    catalogue = read_catalogue(environment.named_shelves())
    return Mill(
        environment=environment,
        catalogue=catalogue,
        store=open_store(environment.lake, environment.options),
        instance=_instance(home),
        definitions=build(environment, catalogue, loggers={PROGRESS: progress_logger(say)}),
        say=say,
    )
