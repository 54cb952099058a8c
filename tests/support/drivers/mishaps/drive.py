"""What `make demo` does, over letters and a diary: `python drive.py`, its lake and Dagster's home in the environment.

Says `begin` when it is loaded, and `agreed` at its end, when Dagster has on record what the ledgers of the lake say.
"""

from dataclasses import replace

from dagster_kit import SHELVES

from assets.support.keys import key_of
from assets.support.mill import Mill
from gristmill.environment import read_environment
from gristmill.lake.ledger.files import list_ledgers, read_head
from scripts.demo import grind
from scripts.mill import open_mill
from scripts.progress import say

VERSION = "dagster/data_version"


def check_agreement(mill: Mill) -> None:
    """Dagster's record is the lake's."""
    for here in list_ledgers(mill.store):
        ledger = read_head(mill.store, here)
        record = mill.instance.get_latest_data_version_record(key_of(here.asset), partition_key=here.snapshot)
        event = record.asset_materialization if record else None
        assert ledger is not None
        assert event is not None, f"Dagster does not know {here.ledger}"
        assert event.tags is not None
        assert event.tags[VERSION] == ledger.fingerprint, f"Dagster has another {here.ledger}"


def main() -> None:
    mill = open_mill(replace(read_environment(), shelves=SHELVES))  # ours would ask for their own tokenizer
    say("begin")
    mill.show_lake()
    grind(mill, "blend")
    mill.run("sync")
    check_agreement(mill)
    say("agreed")


if __name__ == "__main__":
    main()
