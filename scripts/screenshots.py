"""make screenshots: what people see, in a real browser, on the demo's lake: pictures in .cache/screenshots.

On the demo's lake: the timeline, the runs with their tags, a job, the asset graph, a partition of each layer, ticks
without news, the columns of an attribute set and the files of its recipe, its scores, a model with its measures, the
pools, a mix with its preview and indexes, a recorded and a passing check, the audits' job and schedule, the automation.
The preview and one audit are executed for it; nothing else is changed. What goes wrong or changes is shown on a small
lake of its own (scripts/night.py). Needs a Chromium on this machine (GRISTMILL_CHROMIUM, or on the PATH).
"""

import argparse
import shutil
from contextlib import closing

from assets.previews import preview_address
from assets.support.keys import key_of, plain_name
from assets.support.mill import Mill
from gristmill.environment import CHECKOUT
from gristmill.errors import GristmillError
from gristmill.lake.address import (
    attributes_asset,
    cache_asset,
    cache_packing,
    documents_asset,
    mix_asset,
    mix_index,
    raw_asset,
    tokenizer_asset,
)
from scripts.camera import Camera, open_browser
from scripts.mill import open_mill
from scripts.night import open_night, shoot_night
from scripts.progress import say, stop
from scripts.server import Server

SOURCE, SET, MODEL = "packages", "length-1", "toxicity-1"
FOLDER = CHECKOUT / ".cache" / "screenshots"


def shoot(mill: Mill, server: Server, camera: Camera, snapshots: list[str]) -> None:
    """All pictures of the demo's lake."""
    camera.take("timeline", "/overview/activity/timeline", f"{SOURCE}_journey", click="1hr")
    camera.take("runs", "/runs", "gristmill/source", f"{SOURCE}_journey")
    camera.take("job", f"/locations/gristmill/jobs/{SOURCE}_journey", "documents", without="Loading")
    camera.take("job-runs", f"/locations/gristmill/jobs/{SOURCE}_journey/runs", "gristmill/layer")
    camera.take("graph", "/asset-groups", f"{SOURCE}_v1", without="fetching statuses")
    shoot_source(mill, server, camera, snapshots)
    shoot_mixes(mill, server, camera, snapshots)
    sensor = "/locations/gristmill/sensors/raw_arrivals"
    camera.take("tick-without-news", sensor, "0 runs requested", "View logs")
    camera.take("pools", "/deployment/concurrency", "tokenize", without="Loading")
    camera.take("audits", "/locations/gristmill/jobs/audits", "audit_all")
    camera.take("audits-schedule", "/locations/gristmill/schedules/audits_schedule", "Sunday")
    camera.take("automation", "/automation", "raw_arrivals", "only on Sunday")
    camera.take("jobs", "/jobs", "journey")


def shoot_source(mill: Mill, server: Server, camera: Camera, snapshots: list[str]) -> None:
    """The pages of a source: its raw data, documents, attribute sets and checks; and of a model."""
    version = mill.catalogue.sources[SOURCE].current
    documents = documents_asset(SOURCE, version)
    attributes, model = attributes_asset(SOURCE, version, SET), attributes_asset(SOURCE, version, MODEL)
    partition = f"?view=partitions&partition={snapshots[-1]}"
    camera.take("raw", f"/assets/{raw_asset(SOURCE)}{partition}", snapshots[0])
    camera.take("raw-events", f"/assets/{raw_asset(SOURCE)}?view=events", "Metadata")
    camera.take("lineage", f"/assets/{documents}?view=lineage&lineageScope=neighbors", SET, without="Loading")
    camera.take("documents", f"/assets/{documents}{partition}", "Materialized", "fingerprint")
    camera.take("attributes", f"/assets/{attributes}{partition}", "Materialized", "fingerprint")
    camera.take("scores", f"/assets/{model}{partition}", "extremes")
    camera.take("histogram", f"/assets/{model}{partition}", "extremes", click="[Show Markdown]")
    camera.take("columns", f"/assets/{model}", "Columns", "Source code")
    camera.take("pool", f"/assets/{documents}", "Columns", click="Compute details")
    camera.take("model", f"/assets/models/{MODEL}", "recall at 0.5")
    camera.take("confusion", f"/assets/models/{MODEL}", "recall at 0.5", click="[Show Markdown]")
    camera.take("model-lineage", f"/assets/models/{MODEL}?view=lineage&lineageScope=downstream", MODEL)
    checks = f"/assets/{attributes}?view=checks&checkDetail="
    camera.take("check-recorded", f"{checks}row_alignment", "row_alignment")
    server.check(attributes, "row_alignment_audit")
    camera.take("check-passing", f"{checks}row_alignment_audit", "every byte of", without="In Progress")


def shoot_mixes(mill: Mill, server: Server, camera: Camera, snapshots: list[str]) -> None:
    """The pages of a mix: a slice, its tokens, the index and the packing plan of its tokens, and its tokenizer."""
    mix = next(mix for mix in mill.catalogue.mixes.values() if any(each.source == SOURCE for each in mix.streams))
    tokenizer = mill.catalogue.tokenizers_of_mix(mix)[0].name
    stream = next(each.key for each in mix.streams if each.source == SOURCE)
    partition = f"?view=partitions&partition={snapshots[-1]}"
    camera.take(
        "mix-graph",
        f"/locations/gristmill/asset-groups/mix_{plain_name(mix.name)}/lineage",
        "preview",
        without="Loading",
    )
    camera.take("slice", f"/assets/{mix_asset(mix.name, stream)}", "Description")
    camera.take("mix", f"/assets/{mix_asset(mix.name, stream)}{partition}", "Materialized", "fingerprint")
    camera.take("tokens", f"/assets/{cache_asset(mix.name, tokenizer, stream)}{partition}", "Materialized", "tokens")
    preview = preview_address(mix.name)
    server.launch("__ASSET_JOB", {"assetSelection": [{"path": key_of(preview).path}], "assetCheckSelection": []})
    camera.take("preview", f"/assets/{preview}", "Metadata", "[Show Markdown]")
    camera.take("preview-curves", f"/assets/{preview}", "Metadata", click="[Show Markdown]")
    camera.take("mix-index", f"/assets/{mix_index(mix.name)}", "slices")
    camera.take("packing", f"/assets/{cache_packing(mix.name, tokenizer)}", "Owners")
    camera.take("tokenizer", f"/assets/{tokenizer_asset(tokenizer)}", "Owners")


def main() -> None:
    """Takes the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["demo", "night", "all"], default="all", help="what is shown")
    part = parser.parse_args().part
    if part != "night":
        mill = open_mill()
        mill.show_lake()
        if not (snapshots := mill.report_raw(mill.catalogue.sources[SOURCE])):
            stop("the lake is empty: run `make demo` first")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with open_browser() as browser:
        if part != "night":
            with closing(Server(FOLDER / "demo.log")) as server:
                shoot(mill, server, Camera(browser, server.url, FOLDER), snapshots)
        if part != "demo":
            with open_night(FOLDER) as (project, night, alerts):
                shoot_night(project, night, alerts, Camera(browser, night.url, FOLDER))
    say(f"{len(list(FOLDER.glob('*.png')))} pictures are in {FOLDER}")


if __name__ == "__main__":
    try:
        main()
    except GristmillError as error:
        stop(str(error))
