"""make screenshots: what people see, in a real browser, on the demo's lake: pictures in .cache/screenshots.

The timeline, the list of runs, the asset graph, a partition, the ticks of a raw-arrival sensor, a mix and its preview,
the columns of an attribute set and the files of its recipe, its scores, a model with its measures, the pools, a passing
and a failing alignment check with what to run next, a backfill under way, the automation page. Needs a Chromium on this
machine (GRISTMILL_CHROMIUM, or on the PATH). For the failing check a row is cut out of an attribute shard, and put back
afterwards.
"""

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assets.previews import preview_address
from assets.support.keys import plain
from assets.support.mill import Mill
from gristmill.environment import CHECKOUT
from gristmill.lake.address import (
    Place,
    attributes_asset,
    cache_packing,
    documents_asset,
    mix_asset,
    mix_index,
    place,
    raw_asset,
    tokenizer_asset,
)
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.protocol import Store
from scripts.mill import open_mill
from scripts.progress import say, stop
from scripts.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SOURCE, SET, MODEL = "packages", "length-1", "toxicity-1"
FOLDER = CHECKOUT / ".cache" / "screenshots"
SIZE = 1600, 1000


class Camera:
    """A browser that takes pictures of Dagster's pages."""

    def __init__(self, browser: "Browser", url: str, folder: Path) -> None:
        self._page: Page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        self._url, self._folder = url, folder
        self._taken = 0

    def take(self, name: str, path: str, *texts: str, without: str = "", click: str = "") -> None:
        """A picture of a page once these texts can be seen on it, another no longer, and something was clicked."""
        self._page.goto(f"{self._url}{path}")
        for text in texts:
            self._page.get_by_text(text).first.wait_for(timeout=120_000)
        if click:
            self._page.get_by_text(click, exact=True).first.click()
        if without:
            self._page.get_by_text(without).first.wait_for(state="hidden", timeout=120_000)
        self._page.wait_for_timeout(2_500)
        self._taken += 1
        file = self._folder / f"{self._taken:02}-{name}.png"
        self._page.screenshot(path=file)
        say(f"{file.relative_to(CHECKOUT)}: {path}")


def chromium() -> str:
    """The browser's program."""
    named = os.environ.get("GRISTMILL_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        stop("no Chromium on this machine: install one, or name it by GRISTMILL_CHROMIUM")
        sys.exit(1)
    return found


@contextmanager
def row_cut(store: Store, here: Place) -> Iterator[None]:
    """A row is missing in an attribute shard, for a while."""
    path = here.shard(read_ledger(store, here)[1][0].name)
    whole = store.read(path)
    rows = gzip.decompress(whole).splitlines(keepends=True)
    half = len(rows) // 2
    store.put(path, gzip.compress(b"".join(rows[:half] + rows[half + 1 :]), mtime=0))
    try:
        yield
    finally:
        store.put(path, whole)


def shoot(mill: Mill, server: Server, camera: Camera, snapshots: list[str]) -> None:
    """All pictures."""
    version = mill.catalogue.sources[SOURCE].current
    documents = documents_asset(SOURCE, version)
    attributes = attributes_asset(SOURCE, version, SET)
    checks = f"/assets/{attributes}?view=checks&checkDetail="
    camera.take("timeline", "/overview/activity/timeline?range=24hr", "Runs")
    camera.take("runs", "/runs", "Launched by")
    camera.take("graph", "/asset-groups", SOURCE, without="fetching statuses")
    camera.take("lineage", f"/assets/{documents}?view=lineage&lineageScope=neighbors", "length-1", without="Loading")
    camera.take("partition", f"/assets/{documents}?view=partitions&partition={snapshots[0]}", "Materialized")
    scores = f"/assets/{attributes_asset(SOURCE, version, MODEL)}?view=partitions&partition={snapshots[0]}"
    camera.take("scores", scores, "extremes")
    camera.take("histogram", scores, "extremes", click="[Show Markdown]")
    camera.take("model", f"/assets/models/{MODEL}", "recall at 0.5")
    camera.take("confusion", f"/assets/models/{MODEL}", "recall at 0.5", click="[Show Markdown]")
    camera.take("model-lineage", f"/assets/models/{MODEL}?view=lineage&lineageScope=downstream", MODEL)
    camera.take("raw", f"/assets/{raw_asset(SOURCE)}?view=partitions", snapshots[0])
    camera.take("raw-events", f"/assets/{raw_asset(SOURCE)}?view=events", "Metadata")
    camera.take("ticks", f"/locations/gristmill/sensors/{SOURCE}_raw_arrivals", "runs requested")
    camera.take("columns", f"/assets/{attributes_asset(SOURCE, version, MODEL)}", "Columns", "Source code")
    camera.take("pool", f"/assets/{documents}", "Columns", click="Compute details")
    camera.take("pools", "/deployment/concurrency", "tokenize")
    shoot_mixes(mill, camera)
    camera.take("check-recorded", f"{checks}row_alignment", "row_alignment")
    server.check(attributes, "row_alignment_audit")
    camera.take("check-passing", f"{checks}row_alignment_audit", "every byte of", without="In Progress")
    with row_cut(mill.store, place(attributes, snapshots[0])):
        server.check(attributes, "row_alignment_audit")
        camera.take("check-failing", f"{checks}row_alignment_audit", "its ledger says", "run next")
    server.check(attributes, "row_alignment_audit")
    backfill = server.backfill([documents, attributes], snapshots, {"why": "a picture"})
    server.wait(lambda: server.begun(backfill), "the backfill does not begin")
    camera.take("backfill", f"/runs/b/{backfill}", backfill, "completed")
    camera.take("automation", "/automation", "raw_arrivals")
    camera.take("jobs", "/jobs", "journey")


def shoot_mixes(mill: Mill, camera: Camera) -> None:
    """The pages of a mix: a slice, the index and the packing plan of its tokens, and its tokenizer."""
    mix = next(mix for mix in mill.catalogue.mixes.values() if any(each.source == SOURCE for each in mix.streams))
    tokenizer = mill.catalogue.tokenizers_of(mix)[0].name
    stream = next(each.key for each in mix.streams if each.source == SOURCE)
    camera.take("mix-graph", f"/locations/gristmill/asset-groups/mix_{plain(mix.name)}/lineage", "preview")
    camera.take("slice", f"/assets/{mix_asset(mix.name, stream)}", "Description")
    mill.materialize([preview_address(mix.name)], None)
    camera.take("preview", f"/assets/{preview_address(mix.name)}", "Metadata", "[Show Markdown]")
    camera.take("preview-curves", f"/assets/{preview_address(mix.name)}", "Metadata", click="[Show Markdown]")
    camera.take("mix-index", f"/assets/{mix_index(mix.name)}", "slices")
    camera.take("packing", f"/assets/{cache_packing(mix.name, tokenizer)}", "Owners")
    camera.take("tokenizer", f"/assets/{tokenizer_asset(tokenizer)}", "Owners")


def main() -> None:
    """Takes the pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the test environment

    mill = open_mill()
    mill.show()
    snapshots = mill.arrive(mill.catalogue.sources[SOURCE])
    if not snapshots:
        stop("the lake is empty: run `make demo` first")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    server = Server(FOLDER / "dagster.log")
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            shoot(mill, server, Camera(browser, server.url, FOLDER), snapshots)
            browser.close()
    finally:
        server.close()


if __name__ == "__main__":
    main()
