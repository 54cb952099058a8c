"""The step of adoption: it makes the ledger of documents, or of an attribute set, that lie outside of the lake."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.checks import (
    Check,
    Verdict,
    alignment_check_with_asset,
    check_stable_ids,
    check_unique_ids,
    compared_counts_in_words,
)
from gristmill.execution.one_asset import OneAssetStep, ShardPlan
from gristmill.execution.plan import Target, Want
from gristmill.lake.address import Place, attributes_asset, documents_asset, place, raw_asset
from gristmill.lake.ledger.files import read_head, read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import RawVersion, raw_stamps
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Entry, NoFolder, Store
from gristmill.raw_data.checksums import first_three
from gristmill.raw_data.listing import list_raw, raw_names_by_shard
from gristmill.raw_data.roots import adopted_root, open_raw, raw_address
from gristmill.raw_data.scan import show_path
from gristmill.raw_data.snapshots import CONFIRM
from gristmill.recipes.adopted.dataset import Adopted, AdoptedFolder, adopted_folder
from gristmill.recipes.source import Source
from gristmill.stages.adoption.grinder import METADATA_CHANGED, AdoptionItem, AdoptionSpec

ADOPTION = 1
"""Version of the way adopted files are read. Raising it reads all of them again."""

LOOK = 1 << 30
"""Most bytes of files that planning hashes because their ctime is another; workers read the rest again."""


@dataclass(frozen=True)
class AdoptionStep(OneAssetStep):
    """One snapshot of adopted documents, or of an adopted attribute set. No row is written.

    Attributes:
        source: the recipe.
        version: the dataset version.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipe.
        name: name of the attribute set; empty: the documents.
        options: connection options of the lake's bucket, with which an `s3://` root without a RawRoot is read too.
        vanished: whether the snapshot may have no files any more; by default it is an error.
    """

    source: Source
    version: str
    snapshot: str
    shelves: tuple[str, ...]
    name: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    vanished: bool = False
    stage: str = "adoption"

    @property
    def asset(self) -> str:
        """The address of the documents or of the set."""
        if self.name:
            return attributes_asset(self.source.name, self.version, self.name)
        return documents_asset(self.source.name, self.version)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step. Only an adopted dataset's files are the source's raw data; those of a set alone are not watched."""
        files = (raw_asset(self.source.name),) if self.source.adopts else ()
        return (*self.compared_documents, *files)

    @property
    def compared_documents(self) -> tuple[str, ...]:
        """The documents that are compared: those of a set, or of the version before."""
        if self.name:
            return (documents_asset(self.source.name, self.version),)
        return (documents_asset(self.source.name, self.version_before),) if self._compares_metadata else ()

    @property
    def version_before(self) -> str:
        """The adopted version before this one; empty for the first one, and if the step makes a set."""
        number = self.source.versions.index(self.version)
        return "" if self.name or not number else self.source.versions[number - 1]

    @property
    def recipe(self) -> Recipe:
        """The recipe of the ledger."""
        parameters: dict[str, object] = {"adopted": self.version}
        if self._compares_metadata:
            parameters["before"] = self.version_before
        name = self.name or self.source.name
        return Recipe(name, ADOPTION, parameters, self.source.draft)

    @property
    def _compares_metadata(self) -> bool:
        return bool(self.version_before) and isinstance(self.source, Adopted) and self.source.same_metadata

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        if self.name:
            return {"row_alignment": alignment_check_with_asset(documents_asset(self.source.name, self.version))}
        if not self._compares_metadata:
            return {"ids_unique": check_unique_ids}
        return {"ids_unique": check_unique_ids, "ids_stable": self._ids_stable, "metadata_kept": check_metadata_kept}

    def _ids_stable(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        before = place(documents_asset(self.source.name, self.version_before), partition.snapshot)
        return check_stable_ids(store, before, read_ledger(store, before)[1], partition, shards)

    def plan(self, store: Store) -> ShardPlan[AdoptionItem]:
        """See Step.

        Raises:
            RecipeError: the root has no folder for the documents or the set; the message says which folders it has.
            DataError: there are no files, a file has no shard of documents beside it, or a name is wrong.
            StoreError: the root is not there.
        """
        folder = adopted_folder(self.source, self.version, self.name)
        files = open_raw(folder.files, store, self.options)
        try:
            listing = list_raw(folder.files, files, self.snapshot)
        except NoFolder as error:
            self._refuse_absent(store, folder)
            raise self._no_root(folder) from error
        if not listing.entries and not self.vanished:
            self._refuse_absent(store, folder)
            self._refuse_empty(store, folder.files)
        shards = {shard: names[0] for shard, names in raw_names_by_shard(folder.files, listing).items()}
        entries = {shard: listing.entries[name] for shard, name in shards.items()}
        upstream, beside = self._documents_beside_set(store)
        if self.name:
            self._check_shards(shards, beside, folder.files, listing.entries)
        known = _StampedFiles(files, raw_stamps(store, self.made_place), raw_asset(self.source.name))
        wants = []
        for shard, entry in entries.items():
            partner = beside.get(shard)
            inputs = [Input(upstream[0].asset, shard, partner.content)] if upstream and partner else []
            wants.append(known.wanted_shard(shard, folder.lead + entry.path, entry, inputs))
        files_of = Upstream(raw_asset(self.source.name), self.snapshot, "")
        root = adopted_root(folder.files, folder.lead, self.options)
        named = root if wants else None  # without files, nothing names it
        target = Target(self.made_place, self.recipe, (*upstream, files_of), tuple(wants), root=named)
        spec = partial(
            AdoptionSpec,
            root=root,
            raw=raw_asset(self.source.name),
            documents=place(self.compared_documents[0], self.snapshot) if self.compared_documents else None,
            name=self.name,
        )
        bodies = {
            shard: AdoptionItem(folder.lead + entry.path, entry.version, beside.get(shard))
            for shard, entry in entries.items()
        }
        return ShardPlan(target, spec, bodies, lambda body: body.version.size)

    def _documents_beside_set(self, store: Store) -> tuple[list[Upstream], dict[str, Shard]]:
        """The documents that are compared, as an input, and their shards by name."""
        if not self.compared_documents:
            return [], {}
        head, shards = read_ledger(store, place(self.compared_documents[0], self.snapshot))
        return [head.upstream], {shard.name: shard for shard in shards}

    def _check_shards(
        self, shards: Mapping[str, str], documents: Mapping[str, Shard], files: Source, entries: Mapping[str, Entry]
    ) -> None:
        missing = sorted(documents.keys() - shards.keys())
        if missing:
            where = show_path(files, f"{files.partition.prefix(self.snapshot)}{missing[0]}")
            raise DataError(
                f"{where}.*: the set {self.name} has no file for the documents' shard {missing[0]}"
                f" ({len(missing)} such shards); a set has a file for each shard"
            )
        foreign = sorted(shards.keys() - documents.keys())
        if foreign:
            raise DataError(
                f"{show_path(files, entries[shards[foreign[0]]].path)}: the documents have no shard {foreign[0]};"
                f" remove the file, or adopt the documents again"
            )

    @property
    def _adopted_in_words(self) -> str:
        """What is adopted, in words."""
        return f"set {self.name!r} of {self.version}" if self.name else f"documents of {self.version}"

    def _refuse_absent(self, store: Store, folder: AdoptedFolder) -> None:
        """Refuses a folder that the root does not have, though it has others: most often a name is misspelt."""
        files = open_raw(replace(folder.files, raw=folder.root), store, self.options)
        above = ""
        for name in folder.lead.split("/")[:-1]:
            try:
                names = [each.removeprefix(above).rstrip("/") for each in files.folders(above)]
            except NoFolder:
                return
            if name not in names:
                raise RecipeError(
                    f"source {self.source.name!r}: {files.url}/{above} has no folder {name!r}, which the"
                    f" {self._adopted_in_words} needs; it has {first_three(names) if names else 'no folders'};"
                    " correct root, folders or sets"
                )
            above += f"{name}/"

    def _no_root(self, folder: AdoptedFolder) -> StoreError:
        url = raw_address(replace(folder.files, raw=folder.root))
        return StoreError(
            f"{url}: the root of the {self._adopted_in_words} that source {self.source.name!r} adopts is not there:"
            " mount its disk, put the folder back, or correct the root in the recipe"
        )

    def _refuse_empty(self, store: Store, files: Source) -> None:
        """Refuses a snapshot without files, unless only another version has it, and this one never had it."""
        head = read_head(store, self.made_place)
        if not self.name and len(self.source.adopts) > 1 and (head is None or not head.totals.get("shards")):
            return
        where = show_path(files, files.partition.prefix(self.snapshot))
        raise DataError(
            f"{self.asset}: snapshot {self.snapshot} has no files with rows (.json.gz, .jsonl.gz, .jsonl.zst, ...)"
            f" below {where}; correct the root or the name, or mount its disk; {CONFIRM}"
        )


def check_metadata_kept(store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:  # noqa: ARG001 - a Check
    """Checks that no document has other metadata than in the version before. The files were compared when read.

    Returns:
        The verdict, with the first document that differs.
    """
    facts = compared_counts_in_words(shards)
    wrong = [shard for shard in shards if shard.counts.get(METADATA_CHANGED)]
    if not wrong:
        text = f"{facts['rows']:,} documents have the metadata of the version before"
        return Verdict("metadata_kept", passed=True, description=text, metadata=facts)
    changed = sum(shard.counts[METADATA_CHANGED] for shard in wrong)
    facts |= {"changed": changed, "first shard": wrong[0].name}
    text = (
        f"{changed:,} documents in {len(wrong)} shards have other metadata than in the version before; the first shard:"
        f" {wrong[0].at}; ask its owner, or give the recipe same_metadata=False"
    )
    return Verdict("metadata_kept", passed=False, description=text, metadata=facts)


class _StampedFiles:
    """The known sha256 of files, as long as their size and etag are those with which they were read."""

    def __init__(self, store: Store, stamps: Mapping[str, RawVersion], asset: str) -> None:
        self._store, self._stamps, self._asset = store, stamps, asset
        self._look = LOOK

    def wanted_shard(self, shard: str, name: str, entry: Entry, inputs: Sequence[Input]) -> Want:
        """The shard of a file; a file whose ctime alone is another is hashed."""
        stamp = self._stamps.get(name)
        if stamp is None or (stamp.size, stamp.etag) != (entry.size, entry.etag):
            return Want(shard, None, again=stamp is not None and stamp.size == entry.size)
        sha256 = stamp.sha256
        if not stamp.same(entry):
            self._look -= entry.size
            if self._look < 0:
                return Want(shard, None, again=True)
            sha256 = hash_object(self._store, entry.path)
        version = RawVersion.from_version(entry.version, sha256)
        return Want(
            shard,
            (*inputs, Input(self._asset, name, sha256)),
            raw={name: version} if version != stamp else {},
        )
