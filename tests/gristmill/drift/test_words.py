from gristmill.drift.comparison import compare_levels
from gristmill.drift.levels import Levels
from gristmill.drift.words import plotted_entries, verdict_sentence
from gristmill.recipes.drift.bounds import NO_BOUNDS, Bounds

BEFORE = [Levels(key, {"rows": 100}, {"rows dropped": 0.1}) for key in ("2022", "2023")]
KEYS = ["2022", "2023"]


def test_a_verdict_names_the_number_its_level_and_the_mend() -> None:
    measures = compare_levels(Levels("2024", {"rows": 40}, {"rows dropped": 0.1}), BEFORE, NO_BOUNDS)
    assert verdict_sentence(measures, KEYS, "2024", "wiki") == (
        "rows 40, level 100, 0.4 of it, expected 50 to 200; look at its raw data; or, if this level is right, say"
        " accept='2024' in the recipe of source 'wiki'"
    )


def test_a_share_over_its_bound_is_mended_by_the_bound() -> None:
    measures = compare_levels(Levels("2024", {}, {"rows dropped": 0.6}), [], Bounds(dropped={"*": 0.5}))
    assert verdict_sentence(measures, [], "2024", "wiki") == (
        "rows dropped 60.00%, allowed at most 50.00%; look at its raw data; or,"
        " if a bound is too narrow, change bounds="
    )


def test_what_blocks_is_named_first() -> None:
    now = Levels("2024", {"rows": 4}, {"rows dropped": 0.9})
    measures = compare_levels(now, BEFORE, Bounds(dropped={"*": 0.5}))
    assert verdict_sentence(measures, KEYS, "2024", "wiki").startswith("rows dropped 90.00%, level 10.00%")
    entries = plotted_entries(measures, KEYS)
    assert list(entries) == ["compared with", "rows dropped (%)", "rows dropped, expected", "rows", "rows, expected"]
    assert (entries["rows dropped (%)"], entries["rows"]) == (90.0, 4)  # numbers, which Dagster plots


def test_no_verdict_says_why() -> None:
    measures = compare_levels(Levels("2024", {"rows": 4}, {}), BEFORE[:1], NO_BOUNDS)
    words = "no verdict: 1 snapshot before it made by the same recipe, and 2 are needed"
    assert verdict_sentence(measures, KEYS[:1], "2024", "wiki") == words
    assert plotted_entries(measures, []) == {
        "compared with": "nothing",
        "rows": 4,
        "rows, expected": "no level yet",
        "rows dropped (%)": 0.0,
        "rows dropped, expected": "no level yet",
    }


def test_a_verdict_without_findings_names_the_sizes_and_the_snapshots() -> None:
    measures = compare_levels(Levels("2024", {"rows": 90}, {"rows dropped": 0.1}), BEFORE, NO_BOUNDS)
    assert verdict_sentence(measures, KEYS, "2024", "wiki") == "rows 90: as in 2022, 2023"
    assert plotted_entries(measures, KEYS)["rows, expected"] == "level 100, 0.9 of it, expected 50 to 200"
