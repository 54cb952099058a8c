"""The claim of a run of `dolma tag`, `dedupe` or `mix` on a folder of outputs: two runs do not mix their files."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import msgspec

from gristmill.dolma.tagging.records import FOLDER
from gristmill.errors import AtWork
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.process import Process, this_process

RUNS = f"{FOLDER}/runs/"


class RunClaim(msgspec.Struct, frozen=True):
    """Who writes below a folder.

    Attributes:
        process: the process of the run.
        settings: digest of what it makes the files with.
        alone: whether no other run may write here. Else one with the same settings may: it makes the same bytes.
        recipes: digest of what a file's bytes depend on, by its name, besides the settings and its documents. The marks
            of `dolma dedupe` depend on the documents before, so two orders of the same documents make other bytes.
    """

    process: Process
    settings: str
    alone: bool
    recipes: Mapping[str, str] = {}

    def may_write_beside(self, other: "RunClaim") -> bool:
        """Whether both runs may write at once."""
        if self.alone or other.alone or self.settings != other.settings:
            return False
        return all(other.recipes.get(name, recipe) == recipe for name, recipe in self.recipes.items())


def claim_folder_for_process(
    store: Store, settings: str, recipes: Mapping[str, str] | None = None, *, alone: bool
) -> str:
    """Claims a folder for this process.

    The claim is written first, and then the others are read. So of two runs that begin at once, one at least sees the
    other. The claims of processes that have ended are removed.

    Args:
        store: store of the folder.
        settings: digest of the settings, as for RunClaim.
        recipes: digests of what the files depend on, as for RunClaim.
        alone: whether only one run may write there, as for RunClaim.

    Returns:
        The path of the claim, which the run removes at its end.

    Raises:
        AtWork: another process writes here, or may do so. The message names it.
        DataError: a claim is not one.
    """
    own, path = RunClaim(this_process(), settings, alone, recipes or {}), f"{RUNS}{uuid4().hex}.json"
    store.put(path, msgspec.json.encode(own, order="sorted"))
    ended: list[str] = []
    for other, claim in _read_claims(store):
        runs = False if claim.process.is_same(own.process) else claim.process.runs(own.process)
        if other == path or (runs is not False and own.may_write_beside(claim)):
            continue
        if runs is False:
            ended.append(other)
            continue
        store.delete([path])
        who = f"{store.url}: {claim.process} writes here since {claim.process.since}"
        if runs is None:
            where = f"{store.url}/{other}"
            raise AtWork(f"{who}, and nobody can see from here whether it runs; if it does not, remove {where}")
        raise AtWork(f"{who}; wait until it has ended, or give another folder")
    store.delete(ended)
    return path


def remove_ended_claims(store: Store) -> None:
    """Removes the claims of processes that have ended.

    Raises:
        DataError: a claim is not one.
    """
    here = this_process()
    store.delete([path for path, claim in _read_claims(store) if claim.process.runs(here) is False])


def _read_claims(store: Store) -> Iterator[tuple[str, RunClaim]]:
    for entry in list(store.list(RUNS)):
        data = store.read_tagged(entry.path)
        if data is not None:  # its run has ended meanwhile
            where = f"{store.url}/{entry.path}"
            yield entry.path, decode_object(data[0], RunClaim, where, "a claim of a run", "remove it if no run goes on")
