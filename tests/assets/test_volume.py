import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, Works, letter

from assets.support.keys import key_of
from gristmill.recipes.drift.bounds import Bounds

pytestmark = pytest.mark.slow

V0, V1, COUNT = (f"sources/letters/{each}" for each in ("v0/documents", "v1/documents", "v1/attributes/count-1"))
YEARS = ("2021", "2022", "2023")


@pytest.fixture(scope="module")
def two_years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """Two snapshots of ten letters are made; a third of two has arrived."""
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path_factory.mktemp("years") / "lake", instance)
        for year in YEARS:
            count = 2 if year == "2023" else 10
            works.raw([letter(n, f"letter {year} of {n} words") for n in range(count)], snapshot=year)
        works.arrive("letters")
        for year in YEARS[:2]:
            assert works.run("letters_journey", year).success
        yield works


@pytest.fixture
def years(two_years: Works, tmp_path: Path) -> Iterator[Works]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield two_years.copy(tmp_path / "lake", instance)


def bound(works: Works, **bounds: tuple[float, float]) -> None:
    source = replace(works.catalogue.sources["letters"], bounds=Bounds(**bounds))  # type: ignore[arg-type]
    works.load(replace(works.catalogue, sources={**works.catalogue.sources, "letters": source}))


@pytest.mark.slow
def test_a_small_snapshot_is_published_with_a_warning_and_its_drawing(years: Works) -> None:
    done = years.run("letters_journey", "2023")
    assert done.success
    found = done.checks[f"{V0}:volume"]
    assert (found.passed, found.severity, found.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert (found.description or "").startswith("rows 2, level 10, 0.2 of it, expected 5 to 20")
    assert found.metadata["compared with"].value == "2021, 2022"
    assert "accept=" in str(found.metadata["run next"].value)
    drawn = re.search(r"base64,([^)]+)\)", str(found.metadata["last snapshots"].value))
    assert drawn is not None
    svg = base64.b64decode(drawn[1]).decode()
    assert [f"<title>{year}: {rows}</title>" in svg for year, rows in zip(YEARS, (10, 10, 2), strict=True)] == [
        True
    ] * 3
    assert any(line.startswith(f"{V0}: volume: rows 2") for line in done.said)
    scores = done.checks[f"{COUNT}:volume"]
    assert str(scores.metadata["words 50%"].value).startswith("5, level 5, expected")


def test_outside_of_its_bounds_it_fails_the_run_and_publishes_nothing(years: Works) -> None:
    bound(years, rows=(0.5, 2.0))
    failed = years.run("letters_journey", "2023")
    assert not failed.success
    found = failed.checks[f"{V0}:volume"]
    assert (found.passed, found.severity, found.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    assert (years.ledger(V0, "2023"), years.ledger(V1, "2023")) == (None, None)
    assert f"{V0}: not published: volume: rows 2" in next(iter(failed.failures.values()))
    assert years.materialized(V0) == {"2021", "2022"}


@pytest.mark.slow
def test_the_first_two_snapshots_have_no_verdict_and_pass(years: Works) -> None:
    found = years.run("letters_journey", "2022").checks[f"{V0}:volume"]
    assert found.passed
    assert found.description == "no verdict: 1 snapshot before it made by the same recipe, and 2 are needed"


def test_the_check_of_a_recipe_with_bounds_alone_is_declared_as_blocking(works: Works) -> None:
    def blocking(address: str) -> bool:
        graph = works.definitions.resolve_asset_graph()
        return graph.get(dg.AssetCheckKey(key_of(address), "volume")).blocking

    assert (blocking(V0), blocking(V1)) == (False, False)
    bound(works, rows=(0.5, 2.0))
    assert (blocking(V0), blocking(V1)) == (True, False)


@pytest.mark.slow
def test_an_index_keeps_its_edition_if_the_new_one_is_below_half(years: Works) -> None:
    source = replace(years.catalogue.sources["letters"], snapshots="replace")
    years.load(replace(years.catalogue, sources={**years.catalogue.sources, "letters": source}))
    for year in YEARS:
        years.run("letters_journey", year)
        assert years.run("__ASSET_JOB", year, only=[BLEND_LETTERS]).success
    index = "mixes/blend/index"
    failed = years.run("blend_index", None, only=[index])
    assert not failed.success
    assert "edition 2023 has 2 rows, less than half of 10, the median of 2021, 2022" in next(
        iter(failed.failures.values())
    )
