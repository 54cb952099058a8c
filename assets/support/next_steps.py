"""What to do next after a failure: shown beside failed checks and failed runs, and sent with alerts."""

from collections.abc import Mapping

from gristmill.errors import NotPublished

RUN_NEXT = "run next"
"""Metadata of a failed check, and of a failure."""

_AGAIN = "then materialize this partition again"
_RERUN = "reload the code if it has changed, then re-execute the run from failure"

OF_KIND: Mapping[str, str] = {
    "TooManyRefused": "do what the message says; the run's page has a table of the reasons, each with the place of an"
    f" example. A raw file that is replaced is made again by itself; else {_RERUN}",
    "DataError": f"do what the message says. A raw file that is replaced is made again by itself; else {_RERUN}",
    "RecipeError": "do what the message says. A recipe under another name is made by itself, and so is what lacked a"
    " blocklist; else reload the code if it has changed, and launch the run again",
    "Superseded": "nothing: a newer run has taken the partition over",
    "StoreError": f"do what the message says, and see that the lake answers; then {_RERUN}; finished shards are kept",
    "bug": "the trace is in the run's log: please report it; `gristmill plan` shows what is missing meanwhile",
}
"""By the kind of a failure: what comes after the mend, which the failure itself names."""

OF_DEAD = "open the run's page. If its process died, and Runs has no newer run of it, re-execute it from failure"
"""If none of our ops has failed."""

OF_CHECK: Mapping[str, str] = {
    "ids_unique": f"remove the second document from the raw data, or mend the ids in `convert`, {_AGAIN}",
    "parts_meet": f"mend the reader of this source (`gristmill try SOURCE`), {_AGAIN}",
    "checksums_match": f"download the named raw objects again, {_AGAIN}",
    "ids_stable": f"keep ids and shards in the revision's rules and edits, {_AGAIN}",
    "metadata_kept": f"adopt the right files, or declare same_metadata=False, {_AGAIN}",
    "row_alignment": f"materialize the documents of this version, {_AGAIN}; after that, with `force: true`",
    "blocklist_respected": f"see that the blocklist can be read, {_AGAIN}",
    "export_complete": f"materialize the slice of the mix, {_AGAIN} with `force: true`",
    "cache_complete": f"materialize the slice of the mix, {_AGAIN} with `force: true`",
    "rows_proven": f"mend the package's kind, reload the code, {_AGAIN} with `force: true`",
    "volume": "compare the raw data of this snapshot with that before. If the new level is right, say accept= in the"
    f" recipe of the source; if a bound is too narrow, change bounds=. Reload the code, {_AGAIN}",
    "ids_unique_across": "`gristmill trace` shows both places of an id; remove one from the raw data",
}
"""By the name of a check that a commit does, and of `ids_unique_across`."""

OF_AUDIT = (
    "see `gristmill plan`: if it lists this partition, nothing is damaged, and a run is still to make it. Else do what"
    " the findings say (`gristmill verify` lists all of them). Then execute this audit again: it stays red until then"
)
OF_CHECKSUMS = (
    "download the named raw objects again; the sensor reports them, and their documents are made again; then execute"
    " this audit again: it stays red until then"
)
OF_UNSTARTED = (
    "it never started: see that the code server runs; what it was to make is requested again by itself, at most three"
    " times"
)
"""If the queue or run monitoring gave a run up before its begin."""
OF_FORGOTTEN = (
    "its process died, and Dagster could not start it again: see that the code server runs; what it was to make is"
    " requested again by itself, at most three times"
)
"""If the code server was away when a dead run was to be started again."""
OF_GIVEN_UP = (
    "it was launched again three times, and nothing launches it any more: see that the code server runs and stays up,"
    " then re-execute it"
)
"""If such a run, or one that never started, was the last of them."""
OF_WITHOUT_ASSETS = (
    "nothing launches this job again by itself, for it makes no asset: see that the code server runs, then launch it"
    " again"
)
"""If such a run, or one that never started, was of a job as `sync` or `pause`."""
OF_ABSENT = (
    "nothing while a run makes them; else open the page of the absent slice: a red partition names its failed run. The"
    " index is made again when the slice is"
)
"""If an index was made without some slices."""
OF_LATE = (
    "see the last tick of the source's raw-arrival sensor, then whether the publisher has written a snapshot;"
    " `gristmill acquire` fetches one by hand, if somebody has written an acquisition for this source"
)
"""If a source is late."""
OF_MORE = "open the list of failed runs, and mend what they have in common"
"""After a message that counts failures."""
OF_UNREADABLE = "open its page; an event that Gristmill cannot read is a bug of Gristmill: please report it"
"""If an event of Dagster cannot be read."""


def failure_metadata(error: BaseException) -> dict[str, str]:
    """The metadata of a failure: its kind, and what to run next, which alerts tell too.

    Args:
        error: error of our own code; any other is a bug.

    >>> failure_metadata(NotPublished("not published: ids_unique: ...", ["ids_unique"]))["kind"]
    'DataError'
    """
    kind = next((each.__name__ for each in type(error).__mro__ if each.__name__ in OF_KIND), "bug")
    checks = error.checks if isinstance(error, NotPublished) else ()
    return {"kind": kind, RUN_NEXT: "; ".join(dict.fromkeys(map(next_of_check, checks))) or OF_KIND[kind]}


def beside_result(name: str, *, passed: bool) -> dict[str, str]:
    """The metadata entry of a check's result that says what to run next; none if it has passed."""
    return {} if passed else {RUN_NEXT: next_of_check(name)}


def next_of_check(name: str) -> str:
    """The advice for a failed check."""
    if name == "checksums_match_audit":
        return OF_CHECKSUMS
    return OF_AUDIT if name.endswith("_audit") else OF_CHECK.get(name, "see the check's description")
