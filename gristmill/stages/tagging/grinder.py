"""The grinder of tagging: it reads a shard of documents once, and writes its shard of each missing attribute set."""

from collections.abc import Mapping

import msgspec

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError, defined_at, is_failure
from gristmill.execution.attribute_output import AttributeOutput
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.runner import failure_of_error
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Failed, Item, Job, Outcome
from gristmill.execution.write_shards import write_shards
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import MODEL
from gristmill.lake.identity import IdDigest
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.code import CHANGED_CODE
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.document import Document
from gristmill.lake.store.protocol import Store
from gristmill.recipes.batch import Batch
from gristmill.recipes.code.digest import check_worker, code_of
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.tagger import Tagger, TaggerFailed
from gristmill.stages.models.ledger import read_folder
from gristmill.stages.models.local_copy import copy_models_locally
from gristmill.stages.tagging.label_lines import LabelLines


class SetSpec(OneAssetSpec, frozen=True):
    """One attribute set of the run.

    Attributes:
        tagger: name of the tagger.
        models: the fingerprint of each model that the tagger reads, by name.
    """

    tagger: str
    models: Mapping[str, str] = {}


class TaggingSpec(msgspec.Struct, frozen=True):
    """What all shards share.

    Attributes:
        documents: the partition that is read.
        sets: the attribute sets.
    """

    documents: Place
    sets: tuple[SetSpec, ...]


class TaggingItem(msgspec.Struct, frozen=True):
    """One shard of documents, and the taggers whose sets lack this shard."""

    documents: Shard
    taggers: tuple[str, ...]


class _SetOutput(AttributeOutput):
    """The writer of one shard of one attribute set."""

    def __init__(
        self, store: Store, spec: SetSpec, tagger: Tagger, name: str, ids: IdDigest, inputs: tuple[Input, ...]
    ) -> None:
        super().__init__(store, spec, name, inputs, ids.hexdigest)
        self._tagger, self.found = tagger, 0

    def add(self, batch: Batch, lines: LabelLines, first: int) -> None:
        """Tags a batch and writes its rows. `first` is the number of its first row in the shard."""
        tagger = self._tagger
        try:
            labels = tagger.columns(batch)
        except TaggerFailed as error:
            raise self._tagger_failure_error(batch[error.number], first + error.number, error) from error
        except DataError as error:
            where = f"rows {first} to {first + len(batch) - 1} (ids {batch[0].id!r} to {batch[-1].id!r})"
            raise DataError(f"{self.path}: {where}: {error}; {self._tagger_repair_hint}") from error
        except BaseException as error:
            if is_failure(error) and not isinstance(error, GristmillError | MemoryError):
                error.add_note(
                    f"{self.path}: tagger {tagger.name!r} failed {self._failing_document_place(batch, first)};"
                    f" {self._tagger_repair_hint}"
                )
            raise
        columns = [(f"{tagger.name}__{name}", labels[name], tagger.is_exact(name)) for name in sorted(labels)]
        self.write(lines.encode(columns))
        if tagger.searches:
            rows = zip(*labels.values(), strict=True)
            self.found += sum(any(spans is not None and len(spans) for spans in row) for row in rows)

    @property
    def finds(self) -> dict[str, int]:
        """See Outcome.found."""
        return {self.place.asset: self.found} if self._tagger.searches else {}

    def _failing_document_place(self, batch: Batch, first: int) -> str:
        """The row for which the tagger fails; it is given each document alone. A tagger by batches does not say it."""
        for number, document in enumerate(batch):
            try:
                self._tagger.columns([document])
            except BaseException as error:
                if not is_failure(error):
                    raise
                return f"on row {first + number} (id {document.id!r})"
        return f"on rows {first} to {first + len(batch) - 1} together, and on none of them alone"

    def _tagger_failure_error(self, document: Document, row: int, error: TaggerFailed) -> DataError:
        where = f"{self.path}: tagger {self._tagger.name!r} on row {row} (id {document.id!r})"
        return DataError(f"{where}: {error}; {error.mend or self._tagger_repair_hint}")

    @property
    def _tagger_repair_hint(self) -> str:
        tagger = self._tagger
        mend = "mend the tagger" + (" or its labels=" if tagger.labels is not None else "")
        return f"{mend} ({defined_at(tagger.document or tagger.batch or tagger.open)}); {CHANGED_CODE}"


class TaggingGrinder(ShardGrinder[TaggingSpec, TaggingItem]):
    """Grinds shards for the sets of one run."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._ready: dict[str, Tagger | BaseException] = {}

    def grind(self, item: Item, body: TaggingItem) -> Outcome:
        names = set(body.taggers)
        asked = [spec for spec in self._spec.sets if spec.tagger in names]
        specs = [spec for spec in asked if spec.place.asset not in item.without]
        ids = IdDigest()
        read = Input(self._spec.documents.asset, item.name, body.documents.content)
        outputs: list[_SetOutput] = []
        failed: list[Failed] = []
        for spec in specs:
            tagger = self._open_tagger_once(spec)
            if isinstance(tagger, Tagger):
                models = (Input(MODEL.at(model=name), "model", digest) for name, digest in spec.models.items())
                outputs.append(_SetOutput(self._store, spec, tagger, item.name, ids, (read, *models)))
            else:
                failed.append(failure_of_error(tagger, item.name, spec.place.asset))
        ground = write_shards(self._store, outputs, lambda: self._tag_shard_documents(body, ids, outputs, failed))
        found = {asset: rows for output in outputs for asset, rows in output.finds.items()}
        left = tuple(spec.place.asset for spec in asked if spec not in specs)
        return Outcome(ground, failed=tuple(failed), found=found, left=left)

    def _open_tagger_once(self, spec: SetSpec) -> Tagger | BaseException:
        """The tagger of a set with its models, opened once a process; or why it cannot be opened here.

        Only those that an item names: the plan may have refused others.
        """
        if spec.tagger not in self._ready:
            try:
                tagger = self._tagger_of_run(spec)
                for name in tagger.models:
                    if name not in spec.models:
                        read_folder(self._store, MODEL.at(model=name))  # tells why it could not be read
                self._ready[spec.tagger] = tagger.opened(copy_models_locally(self._store, spec.models))
            except StoreError:
                raise
            except BaseException as error:  # what cannot be opened must fail its own set only
                if not is_failure(error):
                    raise
                self._ready[spec.tagger] = error
        return self._ready[spec.tagger]

    def _tagger_of_run(self, spec: SetSpec) -> Tagger:
        """The tagger on this worker's shelves, which must be that of the run."""
        tagger = find_recipe("taggers", Tagger, self._shelves, spec.tagger)
        if tagger.recipe.digest != spec.recipe:
            raise RecipeError(f"tagger {tagger.name!r}: this worker has another recipe than the run; update it")
        check_worker(code_of(tagger), spec.code)
        return tagger

    def _tag_shard_documents(
        self, body: TaggingItem, ids: IdDigest, outputs: list[_SetOutput], failed: list[Failed]
    ) -> None:
        """Reads the documents once for all sets. If a tagger fails, only its own set fails."""
        file = open_shard(self._store, self._spec.documents, body.documents)
        if not outputs:
            return
        for first, documents in file.rows(Document):
            batch = Batch.of(documents)
            lines = LabelLines(batch)
            for output in list(outputs):
                try:
                    output.add(batch, lines, first)
                except StoreError:
                    raise
                except BaseException as error:  # a bug in a tagger must fail its own set only
                    if not is_failure(error):
                        raise
                    output.abort()
                    outputs.remove(output)
                    failed.append(failure_of_error(error, body.documents.name, output.place.asset))
            ids.update([(document.source, document.id) for document in documents])


grinder = TaggingGrinder
