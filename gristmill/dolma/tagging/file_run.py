"""The frame of `dolma tag`, `dedupe` and `mix`: what a run is to do, and how its folders are claimed and concluded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gristmill.dolma.tagging.attribute_folder import AttributeFolder
from gristmill.dolma.tagging.records import open_output_folder
from gristmill.errors import GristmillError, StoreError
from gristmill.execution.runner import grind_all_items, raise_grind_failures
from gristmill.execution.work import Engine, Item, Job, Say, encode_raw
from gristmill.lake.store.open import Lake


@dataclass(frozen=True, kw_only=True)
class FilePlan:
    """What a run is to do.

    Attributes:
        folders: the folders of outputs.
        missed: patterns that match no file.
        items: the files that are missing.
    """

    folders: Sequence[AttributeFolder]
    missed: Sequence[str]
    items: Sequence[Item] = ()

    @property
    def done_count(self) -> int:
        """The number of outputs that are done already."""
        return sum(len(folder.done) for folder in self.folders)


@contextmanager
def hold_folder_claims(
    folders: Sequence[AttributeFolder], options: Mapping[str, str]
) -> Iterator[Sequence[AttributeFolder]]:
    """Begins some folders, and concludes them after the work. If one of our errors ends this, their claims go.

    Else a run on another machine, which cannot see that this process has ended, would have to wait for it.

    Args:
        folders: folders of the outputs, which were looked up.
        options: options of the bucket's client.

    Returns:
        The folders, begun.
    """
    begun: list[AttributeFolder] = []
    try:
        for folder in folders:
            begun.append(folder.claim_if_needed(options))  # noqa: PERF401 - if the second fails, the first has a claim
        yield begun
        for folder in begun:
            folder.write_manifest(options)
    except GristmillError:
        with suppress(StoreError):  # what failed is told
            for folder in begun:
                open_output_folder(folder.root, options).delete([folder.claim] if folder.claim else [])
        raise


def grind_missing_files(
    plan: FilePlan,
    grinder: str,
    engine: Engine,
    options: Mapping[str, str],
    say: Say,
    check: Callable[[Mapping[str, int]], None] = lambda _: None,
) -> Mapping[str, int]:
    """Makes the files that are missing, and writes the manifests.

    Args:
        plan: plan of what is to be done.
        grinder: name of the grinder that makes one file.
        engine: engine that makes the files.
        options: options of the bucket's client.
        say: function that takes lines of progress.
        check: function that raises an error if what was counted is not as it must be; then no manifest is written.

    Returns:
        What the grinders counted.

    Raises:
        GristmillError: files could not be made. The others are done, and the next run keeps them.
    """
    with hold_folder_claims(plan.folders, options):
        job = Job(grinder, Lake(plan.folders[0].root, dict(options)), (), encode_raw({}))
        tally = grind_all_items(engine, job, plan.items, say)
        raise_grind_failures(tally.failed, len(plan.items))
        check(tally.facts)
    return tally.facts
