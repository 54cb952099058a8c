"""What to do next after a failure: shown beside failed checks, and sent with alerts."""

from collections.abc import Mapping

_AGAIN = "then materialize this partition again"

OF_KIND: Mapping[str, str] = {
    "DataError": "mend what the message names: the data; or the code of a reader or tagger, and reload the code; then"
    " re-execute the run from failure",
    "TooManyRefused": "the run's page has a table of the reasons, each with the place of an example; mend the data or"
    " the reader, or raise quarantine_limit, then re-execute the run from failure",
    "RecipeError": "mend what the message names: the configuration of the run; or a recipe or setting, and reload the"
    " code; then launch the run again",
    "StoreError": "see that the lake answers, then re-execute the run from failure; finished shards are kept",
    "bug": "the trace is in the run's log: please report it; `gristmill plan` shows what is missing meanwhile",
}
"""By the kind of a failure (see assets/support/report.py)."""

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
    "ids_unique_across": "`gristmill trace` shows both places of an id; remove one from the raw data",
}
"""By the name of a blocking check, and of `ids_unique_across`."""

OF_AUDIT = (
    "do what the findings say: a shard that is removed is made again by materializing the snapshot; then execute this"
    " audit again. `gristmill verify` lists all findings of the lake"
)
OF_CHECKSUMS = "download the named raw objects again; the sensor reports them, and their documents are made again"
OF_LATE = (
    "see whether the publisher has written a snapshot, and the last tick of the source's raw-arrival sensor;"
    " `gristmill acquire` fetches one by hand, if somebody has written an acquisition for this source"
)
"""If a source is late."""
OF_MORE = "open the list of failed runs, and mend what they have in common"
"""After a message that counts failures."""
OF_UNREADABLE = "open its page; an event that Gristmill cannot read is a bug of Gristmill: please report it"
"""If an event of Dagster cannot be read."""


def beside_result(name: str, *, passed: bool) -> dict[str, str]:
    """The metadata entry of a check's result that says what to run next; none if it has passed."""
    return {} if passed else {"run next": next_of_check(name)}


def next_of_check(name: str) -> str:
    """What to do if a check has failed."""
    if name == "checksums_match_audit":
        return OF_CHECKSUMS
    return OF_AUDIT if name.endswith("_audit") else OF_CHECK.get(name, "see the check's description")
