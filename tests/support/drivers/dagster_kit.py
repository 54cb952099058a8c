"""What the tests of the Dagster layer share: a lake in a folder, an instance of Dagster's, and real runs over both."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster import DagsterEventType
from testkit import link, packed, put_list

from assets.support.arrivals import report_arrivals
from assets.support.keys import address_of, key_of, snapshots_of
from definitions import build
from gristmill.environment import Environment
from gristmill.lake.address import blocklist_path, place, raw_folder
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.open import open_store
from gristmill.recipes.catalogue import Catalogue, read_catalogue

if TYPE_CHECKING:
    from gristmill.lake.store.protocol import Store

SHELVES = ("dagshelf",)
EXPORTING = (*SHELVES, "exportshelf")
"""With exports of the mix."""
RETRY_DELAY = 0.2
"""Seconds that an op waits here before it is tried again."""

LETTERS_V0 = "sources/letters/v0/documents"
LETTERS_V1 = "sources/letters/v1/documents"
COUNT_V1 = "sources/letters/v1/attributes/count-1"
MOODY_V1 = "sources/letters/v1/attributes/moody-1"
COUNT_V0 = "sources/letters/v0/attributes/count-1"
DIARY_V0 = "sources/diary/v0/documents"
DIARY_COUNT = "sources/diary/v0/attributes/count-1"
BLEND_LETTERS = "mixes/blend/documents/letters"
BLEND_DIARY = "mixes/blend/documents/diary"
BLEND_INDEX = "mixes/blend/index"
TINY_LETTERS = "token_caches/blend/tiny-1/letters"
TINY_DIARY = "token_caches/blend/tiny-1/diary"
TINY_INDEX = "token_caches/blend/tiny-1/index"
TINY = "tokenizers/tiny-1"
JOURNEY = (LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1)
"""What the job `letters_journey` makes."""


def letter(number: int, text: str = "", source: str = "letters") -> dict[str, Any]:
    """Document `letter-<number>`; unless it is given, its text is so many words."""
    return {"id": f"letter-{number}", "text": text or " ".join(["word"] * number), "source": source}


def letters(*numbers: int, source: str = "letters") -> list[dict[str, Any]]:
    """One document a number, with so many words."""
    return [letter(number, source=source) for number in numbers]


def environment_of(
    root: Path, shelves: tuple[str, ...] = SHELVES, address: str = "", *, more_jobs: bool = False
) -> Environment:
    return Environment(
        lake=str(root),
        shelves=shelves,
        workers=2,
        endpoint="",
        region="",
        retry_delay=RETRY_DELAY,
        address=address,
        more_jobs=more_jobs,
    )


class Works:
    """A lake with the recipes of tests/support/shelves/dagshelf, and the real definitions over it."""

    def __init__(
        self,
        root: Path,
        instance: dg.DagsterInstance,
        catalogue: Catalogue | None = None,
        address: str = "",
        shelves: tuple[str, ...] = SHELVES,
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.instance = instance
        self._address, self._shelves = address, shelves
        self.store: Store = open_store(str(root))
        self.catalogue = catalogue or read_catalogue(shelves)
        if self.store.head(blocklist_path("takedowns")) is None:
            self.block()

    def copy(self, root: Path, instance: dg.DagsterInstance) -> "Works":
        """The same lake elsewhere, and all that Dagster knows of it in another instance, which is empty."""
        copy_records(self.instance, instance)
        return Works(link(self.root, root), instance, self.catalogue, shelves=self._shelves)

    @cached_property
    def definitions(self) -> dg.Definitions:
        return build(environment_of(self.root, self._shelves, self._address), self.catalogue)

    def load(self, catalogue: Catalogue) -> None:
        """The code is loaded again, with other recipes."""
        self.catalogue = catalogue
        self.__dict__.pop("definitions", None)

    # raw data

    def raw(self, rows: Iterable[Any], name: str = "a", snapshot: str = "2024", source: str = "letters") -> None:
        """Puts a raw object: a shard of that name."""
        self.store.put(f"{raw_folder(source, snapshot)}{name}.jsonl.gz", packed(rows))

    def block(self, *ids: str, source: str = "letters") -> None:
        """Writes the blocklist of the mix."""
        rows = [json.dumps({"source": source, "id": id_, "reason": "asked for"}).encode() + b"\n" for id_ in ids]
        put_list(self.store, b"".join(rows))

    def arrive(self, *sources: str) -> dict[str, list[str]]:
        """What the raw sensors do; the snapshots reported, by source."""
        return {
            name: report_arrivals(self.instance, self.catalogue.sources[name], self.store)[0]
            for name in sources or self.catalogue.sources
        }

    def know(self, *snapshots: str, source: str = "letters") -> None:
        """Adds partitions without any event."""
        self.instance.add_dynamic_partitions(snapshots_of(source).name or "", list(snapshots))

    # runs

    def run(
        self,
        job: str,
        snapshot: str | None = "2024",
        *,
        only: Sequence[str] = (),
        engine: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> "Result":
        """One real run of a named job in this process, inline unless the engine is said."""
        definition = self.definitions.resolve_job_def(job)
        schema: Any = definition.run_config_schema.config_type
        grinds = "engine" in schema.fields["resources"].config_type.fields
        resources = {"engine": {"config": {"kind": "inline", **(engine or {})}}} if grinds else {}
        result = definition.execute_in_process(
            instance=self.instance,
            partition_key=snapshot,
            run_config={"resources": resources, **(config or {})},
            asset_selection=[key_of(address) for address in only] or None,
            raise_on_error=False,
        )
        return Result(result.run_id, self.instance)

    def refresh(self, snapshot: str = "2024", *, stream: str = "letters") -> "Result":
        """One real run of all that is made of a stream, as "Materialize selected" launches it."""
        every = map(address_of, self.definitions.resolve_asset_graph().materializable_asset_keys)
        tops = ("mixes/blend/documents/", "token_caches/blend/", "exports/blend/")
        of_stream = [each for each in every if each.startswith(tops) and each.endswith(f"/{stream}")]
        return self.run("__ASSET_JOB", snapshot, only=of_stream)

    def audit(self, *sources: str) -> "Result":
        """One real run of all audits of some sources."""
        return self.run("audits", None, config={"ops": {"audit_all": {"config": {"sources": list(sources)}}}})

    def whole(self, snapshot: str = "2024") -> None:
        """Raw to tokens of one snapshot of the letters, and the indexes."""
        for done in (
            self.run("letters_journey", snapshot),
            self.run("__ASSET_JOB", snapshot, only=[BLEND_LETTERS]),
            self.run("tiny_1_train", None),
            self.refresh(snapshot),
            self.run("blend_index", None),
        ):
            assert done.success, done.failures

    # what is there

    def ledger(self, address: str, snapshot: str = "2024") -> Ledger | None:
        return read_head(self.store, place(address, snapshot))

    def fingerprint(self, address: str, snapshot: str = "2024") -> str:
        ledger = self.ledger(address, snapshot)
        return ledger.fingerprint if ledger else ""

    def ids(self, address: str, shard: str = "a", snapshot: str = "2024") -> list[str]:
        """The ids of a shard."""
        path = place(address, snapshot).shard(shard)
        return [json.loads(line)["id"] for block in read_blocks(self.store, path) for line in split_rows(block)]

    def materialized(self, address: str) -> set[str]:
        """The snapshots of an asset that Dagster holds for materialized."""
        return set(self.instance.get_materialized_partitions(key_of(address)))

    def version(self, address: str, snapshot: str | None = "2024") -> str | None:
        """The data version that Dagster has last recorded."""
        record = self.instance.get_latest_data_version_record(key_of(address), partition_key=snapshot)
        event = record.asset_materialization if record else None
        return event.tags.get("dagster/data_version") if event and event.tags else None


def copy_records(old: dg.DagsterInstance, new: dg.DagsterInstance) -> None:
    """Copies the databases of an instance in memory: runs, events, partitions."""

    def databases(instance: Any) -> tuple[Any, Any]:
        return instance.event_log_storage.index_connection(), instance.run_storage.connect()

    for connect, connect_new in zip(databases(old), databases(new), strict=True):
        with connect as source, connect_new as target:
            source.connection.driver_connection.backup(target.connection.driver_connection)


class Result:
    """A run, read back from the instance."""

    def __init__(self, run_id: str, instance: dg.DagsterInstance) -> None:
        self.run_id = run_id
        self.entries = instance.all_logs(run_id)
        run = instance.get_run_by_id(run_id)
        assert run is not None
        self.success = run.is_success
        self.events = [entry.dagster_event for entry in self.entries if entry.dagster_event]

    @property
    def said(self) -> list[str]:
        """What the ops logged."""
        return [entry.user_message for entry in self.entries if not entry.dagster_event]

    @property
    def made(self) -> dict[str, dg.AssetMaterialization]:
        """Materializations by address."""
        found = [e.step_materialization_data.materialization for e in self.events if e.is_step_materialization]
        return {"/".join(each.asset_key.path): each for each in found}

    def metadata(self, address: str) -> dict[str, Any]:
        return {name: value.value for name, value in self.made[address].metadata.items()}

    @property
    def checks(self) -> dict[str, dg.AssetCheckEvaluation]:
        """Evaluations by `<address>:<check>`."""
        found = [
            e.asset_check_evaluation_data
            for e in self.events
            if e.event_type == DagsterEventType.ASSET_CHECK_EVALUATION
        ]
        return {f"{'/'.join(each.asset_key.path)}:{each.check_name}": each for each in found}

    @property
    def failures(self) -> dict[str, str]:
        """What each failed step says, by step."""
        found: dict[str, str] = {}
        for event in self.events:
            if event.is_step_failure and event.step_key:
                data = event.step_failure_data
                said = data.user_failure_data.description if data.user_failure_data else None
                found[event.step_key] = said or data.error_display_string
        return found

    def attempts(self, step: str) -> int:
        """How often a step was begun."""
        kinds = (DagsterEventType.STEP_START, DagsterEventType.STEP_RESTARTED)
        return sum(name == step for kind in kinds for name in self.steps(kind))

    @property
    def waits(self) -> list[float | None]:
        """The seconds before each further attempt of a step."""
        retries = [e for e in self.events if e.event_type == DagsterEventType.STEP_UP_FOR_RETRY]
        return [each.step_retry_data.seconds_to_wait for each in retries]

    def steps(self, kind: DagsterEventType) -> list[str]:
        """The steps with such an event."""
        return [event.step_key or "" for event in self.events if event.event_type == kind]


def letters_journey(lake: str) -> dg.JobDefinition:
    """The job over a lake, as Dagster can find it again by its name."""
    return build(environment_of(Path(lake)), read_catalogue(SHELVES)).resolve_job_def("letters_journey")
