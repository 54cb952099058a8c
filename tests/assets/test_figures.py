"""One name and one unit for one figure: in all that Dagster shows of a lake that has one of everything."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, EXPORTING, SHELVES, Works, letter, letters
from remarks import PATH, remarks

from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import read_shelf
from gristmill.reports.sizes import size_in_words

pytestmark = pytest.mark.slow

YEARS = ("2022", "2023", "2024")
BY_HAND = ("labels/remarks", "models/rude-1")
LAST = ("dedupe/once-1/resolution", "token_caches/blend/tiny-1/index/packing", "mixes/blend/preview")
COUNTED = {"bytes", "tokens", "rows", "files", "shards", "sequences", "texts", "padding"}
"""What names of whole numbers begin or end with."""
IN_WORDS = re.compile(r"\d ?(%|bytes?|[kMGTP]B|s|seconds|hours)$")
"""A figure in words, which no plot can show."""


def everything() -> Catalogue:
    """Letters and a diary, with a labelled set, a model, duplicates, a solved mix that holds rows out, and exports."""
    known, own = read_catalogue(EXPORTING), read_catalogue((*SHELVES, "remarkshelf"))
    once = read_shelf("dedupes", Dedupe, ("gristmill", "dedupeshelf"))["once-1"]
    blend = replace(known.mixes["blend"], sequence_length=8, token_budget=300, validation=0.3)
    return replace(
        known,
        taggers={**known.taggers, "rude-1": own.taggers["rude-1"]},
        mixes={"blend": blend},
        labels={"remarks": own.labels["remarks"]},
        models={"rude-1": own.models["rude-1"]},
        dedupes={"once-1": once},
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, Any]]:
    """All metadata of all runs: where, name and value; and of each cell of a table, by its column."""
    with dg.DagsterInstance.ephemeral() as instance:
        shelves = (*EXPORTING, "remarkshelf", "dedupeshelf")
        works = Works(tmp_path_factory.mktemp("everything") / "lake", instance, everything(), shelves=shelves)
        works.store.put(PATH, remarks())
        for first, year in zip((20, 30, 40), YEARS, strict=True):
            works.raw([*letters(*range(first, first + 7)), b"no document", letter(first + 7, "one")], snapshot=year)
        works.raw(letters(1, 2, 3, source="diary"), source="diary")
        works.arrive()
        runs: list[tuple[str, str | None, tuple[str, ...]]] = [
            *(("__ASSET_JOB", None, (each,)) for each in BY_HAND),
            *(("letters_journey", year, ()) for year in YEARS),
            ("diary_journey", "2024", ()),
            *(("__ASSET_JOB", year, (BLEND_LETTERS,)) for year in YEARS),
            ("tiny_1_train", None, ()),
            *(("letters", year, ()) for year in YEARS),
            ("diary", "2024", ()),
            ("blend_index", None, ()),
            *(("__ASSET_JOB", None, (each,)) for each in LAST),
            ("__ASSET_JOB", "2024", ("sources/letters/v0/attributes/once-1",)),
            *((job, None, ()) for job in ("lake_totals", "audits", "ids_across", "sync")),
        ]
        for job, key, only in runs:
            whole = job in works.catalogue.sources
            done = works.refresh(str(key), stream=job) if whole else works.run(job, key, only=only)
            assert done.success, (job, key, done.failures)
        raw = instance.get_latest_materialization_event(dg.AssetKey(["sources", "letters", "raw"]))
        assert raw is not None
        found = [each for run in instance.get_runs() for each in _of_run(instance, run.run_id)]
        return [*found, *_metadata(raw)]


def _of_run(instance: dg.DagsterInstance, run: str) -> Iterator[tuple[str, str, Any]]:
    for entry in instance.all_logs(run):
        yield from _metadata(entry)


def _metadata(entry: dg.EventLogEntry) -> Iterator[tuple[str, str, Any]]:
    event = entry.dagster_event
    kinds = dg.DagsterEventType
    if event is None:
        return
    if event.event_type is kinds.ASSET_MATERIALIZATION:
        made = event.step_materialization_data.materialization
        yield from _values("/".join(made.asset_key.path), made.metadata)
    elif event.event_type is kinds.ASSET_CHECK_EVALUATION:
        found = event.asset_check_evaluation_data
        yield from _values(f"check {found.check_name}", found.metadata)
    elif event.event_type is kinds.STEP_OUTPUT:
        yield from _values(f"output of {event.step_key}", event.step_output_data.metadata or {})


def _values(where: str, metadata: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in metadata.items():
        yield where, name, value
        for record in value.records if isinstance(value, dg.TableMetadataValue) else ():
            yield from ((f"{where}: {name}", column, cell) for column, cell in record.data.items())


def _kind(value: Any) -> str:
    """The kind of a value: one that is nothing yet has none."""
    plain = value.value if isinstance(value, dg.IntMetadataValue | dg.FloatMetadataValue) else value
    if isinstance(plain, int | float):
        return type(plain).__name__
    if plain is None or (isinstance(plain, dg.TextMetadataValue) and plain.value == "none"):
        return ""
    return "words" if isinstance(plain, str | dg.TextMetadataValue) else type(plain).__name__


def test_a_name_has_one_kind_of_value_everywhere(shown: list[tuple[str, str, Any]]) -> None:
    kinds: dict[str, dict[str, str]] = {}
    for where, name, value in shown:
        if kind := _kind(value):
            kinds.setdefault(name, {}).setdefault(kind, where)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
    assert len(kinds) > 100


def test_shares_are_numbers_from_0_to_100_and_their_names_say_so(shown: list[tuple[str, str, Any]]) -> None:
    shares = [(name, value) for _, name, value in shown if name.endswith("(%)")]
    assert {name for name, value in shares if _kind(value) != "float"} == set()
    values = {name: getattr(value, "value", value) for name, value in shares}
    assert all(0 <= value <= 100 for value in values.values())
    assert {"rows dropped (%)", "share (%)", "filled (%)", "unknown tokens (%)", "share of tokens (%)"} <= set(values)
    assert {name for _, name, _ in shown if re.search("share|rate$", name) and not name.endswith("(%)")} == {"rate"}


def test_sizes_alone_are_words_and_tell_the_same_as_the_bytes_beside_them(shown: list[tuple[str, str, Any]]) -> None:
    words = {
        name
        for _, name, value in shown
        if isinstance(value, str | dg.TextMetadataValue)
        and IN_WORDS.search(str(getattr(value, "value", value)))
        and not name.endswith(", expected")
    }
    assert words == {"size", "what happened"}
    size = {where: value for where, name, value in shown if name == "size" and not isinstance(value, str)}
    whole = {where: value for where, name, value in shown if name == "bytes"}
    assert {where: size_in_words(whole[where].value) for where in size} == {w: v.value for w, v in size.items()}
    assert len(size) > 20


def test_counts_are_whole_numbers(shown: list[tuple[str, str, Any]]) -> None:
    named = {(name, _kind(value)) for _, name, value in shown}
    counted = {
        (name, kind)
        for name, kind in named
        if COUNTED & {name.split(" ")[0], name.split(" ")[-1]} and not name.endswith((", expected", "(%)"))
    }
    assert {
        name for name, kind in counted if kind not in {"int", "", "TableMetadataValue", "MarkdownMetadataValue"}
    } == {
        "bytes of text a token",
        "sequences are",
    }
    assert {name for name, _ in named if "_" in name and not name.startswith("dagster/")} == set()


def test_what_is_counted_has_one_name(shown: list[tuple[str, str, Any]]) -> None:
    """Documents of the lake are rows, raw objects are files, and what a trainer reads at once is a sequence."""
    names = {name for _, name, _ in shown}
    assert {name for name in names if re.search(r"\b(documents|objects|examples$|records)\b", name)} == {
        "duplicate documents",
        "examples",
    }
    warnings = {str(value.value) for _, name, value in shown if name == "warnings"}
    assert "none" not in warnings
