"""One backfill over all sources of a mix, from raw to tokens: `python -m scripts.backfill MIX SOURCE=SNAPSHOT,...`.

The UI asks for partitions of one set at a time; Dagster's GraphQL takes other partitions for every asset. This asks it,
with nothing but Python's own library and this checkout; `make ui` must be up. `--cancel LAUNCH` cancels all backfills
into which the web server has divided a launch of many snapshots.
"""

import argparse
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.lake.asset_kinds import TOKENIZER, names_in_asset_address

UI = "http://127.0.0.1:3000"
NODES = """{ assetNodes { assetKey { path } isExecutable partitionDefinition { name }
    assetMaterializations(limit: 1) { runId } } }"""
LAUNCH = """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PartitionKeysNotFoundError { message }
    ... on UnauthorizedError { message }
    ... on PythonError { message } } }"""

BACKFILLS = """{ partitionBackfillsOrError { __typename ... on PythonError { message }
    ... on PartitionBackfills { results { id status tags { key value } } } } }"""
CANCEL = """mutation ($id: String!) { cancelPartitionBackfill(backfillId: $id) {
    __typename
    ... on UnauthorizedError { message }
    ... on PythonError { message } } }"""
LAUNCH_TAG = "gristmill/launch"
GOING = {"REQUESTED", "FAILING"}
"""States of a backfill that can be canceled."""


def ask(url: str, query: str, **variables: object) -> Any:
    """What Dagster's GraphQL answers.

    Raises:
        OSError: nobody answers there.
        SystemExit: the question was wrong.
    """
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310 - a person names it
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - see above
            said = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.headers.get_content_type() != "application/json":
            raise
        said = json.load(error)  # Dagster answers so what it refuses, with its words
    if "errors" in said:
        raise SystemExit(said["errors"][0]["message"])
    return said["data"]


def launch(url: str, chosen: Mapping[str, Sequence[str] | None], title: str = "") -> str:
    """Launches one backfill; its id.

    Args:
        url: of the UI.
        chosen: the snapshots of each asset, by its address; None for an asset without partitions.
        title: for the list of backfills.

    Raises:
        SystemExit: Dagster refuses it; with its words.
    """
    selectors = [
        {
            "assetKey": {"path": address.split("/")},
            **({"partitions": {"ranges": [{"start": key, "end": key} for key in keys]}} if keys is not None else {}),
        }
        for address, keys in chosen.items()
    ]
    params = {"partitionsByAssets": selectors, **({"title": title[:100]} if title else {})}  # as many as Dagster takes
    said = ask(url, LAUNCH, params=params)["launchPartitionBackfill"]
    if said["__typename"] != "LaunchBackfillSuccess":
        raise SystemExit(f"{said['__typename']}: {said.get('message', '')}")
    return str(said["backfillId"])


def cancel(url: str, launched: str) -> list[str]:
    """Cancels the backfills of a launch that have not ended; their ids, in their order.

    Args:
        url: of the UI.
        launched: what all its parts have in the tag `gristmill/launch`.

    Raises:
        SystemExit: Dagster knows no such launch, or refuses; with its words.
    """
    said = ask(url, BACKFILLS)["partitionBackfillsOrError"]
    tag = {"key": LAUNCH_TAG, "value": launched}
    parts = [each for each in reversed(said.get("results", ())) if tag in each["tags"]]
    if not parts:
        raise SystemExit(f"{said.get('message', f'no backfill has the tag {LAUNCH_TAG}={launched}')}")
    going = [each["id"] for each in parts if each["status"] in GOING]
    for each in going:
        answer = ask(url, CANCEL, id=each)["cancelPartitionBackfill"]
        if answer["__typename"] != "CancelBackfillSuccess":
            raise SystemExit(f"{each}: {answer['__typename']}: {answer.get('message', '')}")
    return going


def chain(url: str, mix: str, snapshots: Mapping[str, Sequence[str]]) -> dict[str, list[str] | None]:
    """All that such a backfill makes: versions and sets of the sources, slices and tokens of the mix, its indexes.

    Tokenizers are left out: they are trained by hand. So are the token caches of those that are not trained yet.

    Raises:
        SystemExit: there is no such mix, or no such source.
    """
    chosen: dict[str, list[str] | None] = {}
    nodes = {"/".join(node["assetKey"]["path"]): node for node in ask(url, NODES)["assetNodes"]}
    for address, node in nodes.items():
        names = names_in_asset_address(address)
        if not node["isExecutable"] or (names.get("mix") != mix and "source" not in names):
            continue
        if "tokenizer" in names and not nodes[TOKENIZER.at(tokenizer=names["tokenizer"])]["assetMaterializations"]:
            continue
        keys = (node["partitionDefinition"] or {}).get("name", "").removeprefix("snapshots/")
        if not keys:
            chosen[address] = None
        elif keys in snapshots:
            chosen[address] = list(snapshots[keys])
    for field, wanted in (("mix", mix), *(("source", source) for source in snapshots)):
        if not any(names_in_asset_address(address).get(field) == wanted for address in chosen):
            raise SystemExit(f"{field} {wanted}: Dagster knows no such assets")
    return chosen


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.backfill", description=__doc__.partition(":")[0])
    parser.add_argument("mix", nargs="?")
    parser.add_argument("snapshots", nargs="*", metavar="SOURCE=SNAPSHOT,...")
    parser.add_argument("--cancel", metavar="LAUNCH", help="cancel all backfills with this tag `gristmill/launch`")
    parser.add_argument("--url", default=UI, help=f"of the UI, by default {UI}")
    given = parser.parse_args(arguments)
    if given.cancel:
        print(f"canceled: {', '.join(cancel(given.url, given.cancel)) or 'nothing, all have ended'}")
        return
    if not given.snapshots:
        parser.error("name a mix, and snapshots of its sources")
    pairs = (each.partition("=") for each in given.snapshots)
    snapshots = {source: keys.split(",") for source, _, keys in pairs}
    chosen = chain(given.url, given.mix, snapshots)
    backfill = launch(given.url, chosen, f"{given.mix}: {' '.join(given.snapshots)}")
    print(f"{len(chosen)} assets: {given.url}/runs/b/{backfill}")


if __name__ == "__main__":
    main()
