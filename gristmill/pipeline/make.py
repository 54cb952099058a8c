"""Makes what is missing in a lake, task by task, without Dagster: for the command line and for Python programs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import uuid4

from gristmill.errors import AtWork, Conflict, DataError, GristmillError, RecipeError, StoreError, Superseded
from gristmill.execution.added_checks import added_checks
from gristmill.execution.checks import Check, warning_sentences
from gristmill.execution.claim import Claimant, release_claims
from gristmill.execution.step import Step, StoredPlan, assemble_one, grind, plan, publish_one
from gristmill.execution.work import Engine, ProgressLine, Say
from gristmill.lake.address import Place, place
from gristmill.lake.ledger.lake_id import LAKE_FILE, make_lake_id
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.receipts import read_receipts
from gristmill.lake.rows.blocklists.blocklist_files import record_blocklist_entries
from gristmill.lake.store.open import Lake
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.tasks import FolderTask, IndexTask, ResolutionTask, TokenizerTask
from gristmill.pipeline.volume import VOLUME
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.conversion.named_source import other_source_line
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.dedupe.resolution import resolve_duplicates
from gristmill.stages.dedupe.round_facts import doubtful_result_line
from gristmill.stages.mixing.blocklist_matches import named_lists
from gristmill.stages.models.training import make_model_or_labels
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.training import make_tokenizer


@dataclass(frozen=True)
class NotMade:
    """A partition, tokenizer or index that a run could not make.

    Attributes:
        prospect: its state.
        error: reason for it; None if the prospect says why.
        named: whether it was asked for by name.
    """

    prospect: Prospect
    error: GristmillError | None = None
    named: bool = False

    @property
    def counts(self) -> bool:
        """Whether the run has failed by it. What waits for something that no command can make now does not count.

        But it counts if it was asked for by name.
        """
        return self.error is not None or self.prospect.state != "wait" or self.named

    def __str__(self) -> str:
        where = f"{self.prospect.asset} ({self.prospect.snapshot})" if self.prospect.snapshot else self.prospect.asset
        if self.error is not None:
            said = str(self.error)
            return said if said.startswith(self.prospect.asset) else f"{where}: {said}"
        return f"{where}: {self.prospect.state}: {'; '.join(self.prospect.why)}"


@dataclass
class Maker:
    """Makes the partitions that are missing or out of date. An up-to-date partition is only surveyed.

    If a partition cannot be made, those that are made from it wait, and the others are made.

    Attributes:
        planner: planner of what must be made, in order.
        lake: the lake.
        engine: engine that grinds shards.
        say: function that takes lines of progress.
        take_over: whether partitions are also taken over from other processes that are making them.
        made: number of partitions, tokenizers, models and indexes that were made.
        seen: number of those that were surveyed.
        not_made: list of what could not be made, in order.
    """

    planner: Planner
    lake: Lake
    engine: Engine
    say: Say
    take_over: bool = False
    made: int = 0
    seen: int = 0
    not_made: list[NotMade] = field(default_factory=list)
    _at_work: tuple[Place, ...] = ()
    _noted: set[str] = field(default_factory=set)

    def run(self) -> Iterator[Ledger]:
        """Makes all targets and the inputs that they need.

        Yields:
            The ledger of each partition that was made. Tokenizers and indexes are only said.

        Raises:
            AtWork: another process is making what would be made next.
            Superseded: another run has taken over what was being made.
            StoreError: the lake does not answer any more. What was made is kept.
        """
        self._tell_known_faults()
        self._note_blocklists()
        for task in self.planner.tasks():
            prospects = self.planner.survey_task(task)
            self.seen += len(prospects)
            match task:
                case TokenizerTask():
                    self._make_tokenizer(task.tokenizer, prospects[0])
                case FolderTask():
                    self._make_model_folder(task.recipe, prospects[0])
                case IndexTask():
                    self._make_index(task, prospects)
                case ResolutionTask():
                    self._make_resolution(task, prospects[0])
                case _:
                    yield from self._make_step(task, prospects)
        for unmatched in self.planner.unmatched_entries():  # now that all documents are there
            self.say(f"note: {unmatched}")

    def _tell_known_faults(self) -> None:
        """Says what is known before anything is made, so that a person may mend it while the others are made."""
        for prospect in self.planner.strays:
            self.say(f"wrong {prospect.asset}: {'; '.join(prospect.why)}")
            self._note_left(prospect)
        for remark in self.planner.remarks:
            self.say(f"note: {remark}")
        for prospect in self.planner.unlisted:
            self._note_left(prospect)
        for prospect in self.planner.foreseen_refusals():
            self.say(f"refused {prospect.asset}: {'; '.join(prospect.why)}")

    def _note_blocklists(self) -> None:
        """Notes the entries of blocklists, also those of documents that are still to come: see blocklists/."""
        for name in named_lists(self.planner.catalogue):
            with suppress(DataError):  # a wrong row: planning what names the list raises it
                record_blocklist_entries(self.lake.store(), name)

    def raise_failures(self) -> None:
        """Raises what could not be made as one error, of the class of the first.

        Raises:
            GristmillError: something failed, is refused or wrong, or was asked for by name and waits.
        """
        failures = [each for each in self.not_made if each.counts]
        if len(failures) == 1 and failures[0].error is not None:
            raise failures[0].error
        if failures:
            first = failures[0]
            kind: type[GristmillError] = RecipeError if first.prospect.state == "refused" else DataError
            kind = next((each for each in (RecipeError, StoreError) if isinstance(first.error, each)), kind)
            raise kind("\n".join(str(each) for each in failures))

    def _make_step(self, step: Step, prospects: Sequence[Prospect]) -> Iterator[Ledger]:
        due = [each for each in prospects if each.state in {"make", "note"}]
        for prospect in prospects:
            if prospect in due:
                self.say(f"{prospect.asset} ({prospect.snapshot}): {'; '.join(prospect.why)}")
            elif prospect.state not in {"finished", "wrong"}:
                self._note_left(prospect)
        if due:
            yield from self._make_partitions(step, due)
        for prospect in prospects:
            if prospect.state == "wrong":  # a torn table is written again; what else is wrong is an error once more
                yield from self._make_partitions(step, [prospect])

    def _make_partitions(self, step: Step, due: Sequence[Prospect]) -> Iterator[Ledger]:
        """Makes some partitions of a step. Each is published, unless one of its shards or checks failed."""
        if isinstance(step, TaggingStep):
            assets = {prospect.asset for prospect in due}
            step = replace(step, taggers=tuple(t for t, a in zip(step.taggers, step.makes, strict=True) if a in assets))
        store, token = self.lake.store(), uuid4().hex
        with release_claims(store, step.makes, step.snapshot, token):
            try:
                if not self.made:
                    make_lake_id(store)  # its file also tells that this folder is a lake
                planned = plan(step, self.lake, token, by=Claimant.of_this_process(takes_over=self.take_over))
                self._at_work = tuple(partition.place for partition in planned.partitions)
                tally = grind(planned, self.engine, self._prefixed_progress(step))
            except GristmillError as error:
                for prospect in due:
                    self._note_failure(prospect, error)
                return
            for warning in tally.warnings:
                self.say(f"warning: {warning}")
            for prospect in due:
                try:
                    ledger = self._publish_partition(step, planned, prospect.asset)
                    if isinstance(step, ConversionStep) and prospect.asset not in self._noted:
                        self._note_source(place(prospect.asset, prospect.snapshot))
                except GristmillError as error:
                    self._note_failure(prospect, error)
                else:
                    self._note_made(prospect)
                    yield ledger
        self._at_work = ()

    def _publish_partition(self, step: Step, planned: StoredPlan, asset: str) -> Ledger:
        more: dict[str, Check] = {
            VOLUME: self.planner.volume_check_of_asset(asset),
            **added_checks(asset, step.checks(asset)),
        }
        assembled = assemble_one(step, planned, asset, {}, more)
        ledger = publish_one(planned, asset, assembled)
        for warning in warning_sentences(assembled.verdicts):
            self.say(f"warning: {asset} ({step.snapshot}): {warning}")
        return ledger

    def _note_source(self, documents: Place) -> None:
        """Says once, of each source, that its documents have another source than its name."""
        self._noted.add(documents.asset)
        note = other_source_line(self.lake.store(), documents)
        if note:
            self.say(f"note: {note}")

    def report_kept(self) -> list[str]:
        """The lines that say what is kept of the step that was stopped: its finished shards, which the next run does
        not grind.
        """
        store = self.lake.store()
        counts = {place: sum(1 for _ in read_receipts(store, place)) for place in self._at_work}
        said = [f"{place.asset} ({place.snapshot}): {n} shards are kept" for place, n in counts.items() if n]
        return [f"{self.made} partitions made", *said]

    def _prefixed_progress(self, step: Step) -> Say:
        """Takes the lines of progress of a step, and puts the partition in front."""
        where = step.makes[0] if len(step.makes) == 1 else f"{step.makes[0].rpartition('/')[0]}/*"

        def say(line: str) -> None:
            self.say(ProgressLine(f"{where} ({step.snapshot}): {line}"))

        return say

    def _make_tokenizer(self, tokenizer: Tokenizer, prospect: Prospect) -> None:
        if prospect.state != "make":
            if prospect.state != "finished":
                self._note_left(prospect)
            return
        self.say(f"{prospect.asset}: {'; '.join(prospect.why)}")
        try:
            ledger, _ = make_tokenizer(self.lake.store(), tokenizer, self.say)
        except GristmillError as error:
            self._note_failure(prospect, error)
            return
        self._note_made(prospect)
        source = (
            f"trained on {ledger.documents:,} documents" if tokenizer.training else f"imported from {tokenizer.file}"
        )
        self.say(f"made {prospect.asset}: {ledger.vocabulary:,} entries, {source}")

    def _make_model_folder(self, recipe: LabelledSet | Model, prospect: Prospect) -> None:
        if prospect.state != "make":
            if prospect.state != "finished":
                self._note_left(prospect)
            elif prospect.why:
                self.say(f"note: {prospect.asset}: {'; '.join(prospect.why)}")
            return
        self.say(f"{prospect.asset}: {'; '.join(prospect.why)}")
        try:
            make_model_or_labels(self.lake.store(), recipe, self.say)
        except GristmillError as error:
            self._note_failure(prospect, error)
            return
        self._note_made(prospect)

    def _make_resolution(self, task: ResolutionTask, prospect: Prospect) -> None:
        if prospect.state != "make":
            if prospect.state != "finished":
                self._note_left(prospect)
            return
        self.say(f"{prospect.asset}: {'; '.join(prospect.why)}")
        shelves = self.planner.shelves
        try:
            claimant, token = Claimant.of_this_process(takes_over=self.take_over), uuid4().hex
            result = resolve_duplicates(
                self.lake, task.dedupe, task.editions, shelves, self.engine, token, self.say, by=claimant
            )
        except GristmillError as error:
            self._note_failure(prospect, error)
            return
        self._note_made(prospect)
        doubtful = doubtful_result_line(each.counts for each in result.snapshots)
        if doubtful:
            self.say(f"warning: {prospect.asset}: {doubtful}")

    def _make_index(self, task: IndexTask, prospects: Sequence[Prospect]) -> None:
        for prospect in prospects:
            if prospect.state == "make":
                try:
                    task.indexes.write(self.lake.store(), task.address)
                    warnings = task.indexes.warnings(self.lake.store(), task.address)
                except GristmillError as error:
                    self._note_failure(prospect, error)
                    continue
                self._note_made(prospect)
                self.say(f"{task.address}: written ({'; '.join(prospect.why)})")
                for warning in warnings:
                    self.say(f"warning: {task.address}: {warning}")
            elif prospect.state != "finished":
                self._note_left(prospect)

    def _note_made(self, prospect: Prospect) -> None:
        self.made += 1
        self.planner.states.note_made(prospect.asset, prospect.snapshot)

    def _note_left(self, prospect: Prospect) -> None:
        self.not_made.append(NotMade(prospect, None, named=self.planner.was_named(prospect)))

    def _note_failure(self, prospect: Prospect, error: GristmillError) -> None:
        """Notes a failure. If the lake itself no longer answers, nothing else can be made.

        Nor is it if another run makes the partition: that run makes all that comes after it too.

        Raises:
            AtWork: another process is making it.
            Superseded: another run has taken it over, or has written the same index, order or folder.
            StoreError: the lake does not answer.
        """
        if isinstance(error, Conflict):  # what has no claim
            error = Superseded(f"{prospect.asset}: another run makes it too; this one stops here: {error}")
        if isinstance(error, AtWork | Superseded):
            raise error
        self.planner.states.note_failed(prospect.asset, prospect.snapshot)
        self.not_made.append(NotMade(prospect, error, named=self.planner.was_named(prospect)))
        self.say(f"FAILED {str(self.not_made[-1]).partition(chr(10))[0]}")
        if isinstance(error, StoreError):
            next(iter(self.lake.store().list(LAKE_FILE)), None)
