"""What to do next: the same words on the page of a run, on that of a check, and in an alert."""

import pytest

from assets.support.next_steps import (
    OF_AUDIT,
    OF_CHECK,
    OF_CHECKSUMS,
    OF_KIND,
    beside_result,
    failure_metadata,
    next_of_check,
)
from assets.support.step_ops import CLAIMS
from gristmill.errors import (
    Conflict,
    DataError,
    MalformedRow,
    NotPublished,
    RecipeError,
    StoreError,
    Superseded,
    TooManyRefused,
)
from gristmill.pipeline.volume import VOLUME


def test_every_check_says_what_to_run_next_if_it_has_failed() -> None:
    assert OF_CHECK.keys() == {*CLAIMS, VOLUME, "ids_unique_across"}
    assert beside_result("ids_unique", passed=True) == {}
    assert beside_result("ids_unique", passed=False) == {"run next": OF_CHECK["ids_unique"]}
    assert next_of_check("row_alignment_audit") == OF_AUDIT
    assert next_of_check("checksums_match_audit") == OF_CHECKSUMS


def test_what_comes_after_the_mend_also_fits_code_and_the_configuration_of_a_run() -> None:
    assert "reload the code" in OF_KIND["DataError"]
    assert "launch the run again" in OF_KIND["RecipeError"]
    assert "what lacked a blocklist" in OF_KIND["RecipeError"]  # the sensor of blocklists requests it
    assert "force" not in OF_AUDIT  # the findings name the shard to remove, and only that is made again


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DataError("a"), "DataError"),
        (MalformedRow("a.jsonl.gz", 1, "no JSON"), "DataError"),
        (TooManyRefused("a"), "TooManyRefused"),
        (RecipeError("a"), "RecipeError"),
        (StoreError("a"), "StoreError"),
        (Conflict("a"), "StoreError"),
        (Superseded("a"), "Superseded"),
        (ZeroDivisionError("a"), "bug"),
    ],
)
def test_each_failure_has_one_of_the_kinds_that_people_are_told(error: Exception, kind: str) -> None:
    assert failure_metadata(error) == {"kind": kind, "run next": OF_KIND[kind]}


def test_a_partition_that_checks_refuse_says_what_the_checks_say() -> None:
    error = NotPublished("not published", ["row_alignment", "ids_stable"])
    assert failure_metadata(error) == {
        "kind": "DataError",
        "run next": f"{OF_CHECK['row_alignment']}; {OF_CHECK['ids_stable']}",
    }
