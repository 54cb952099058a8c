"""What Dagster shows of a labelled set, a model or a tokenizer."""

import base64
from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.support.facts.tables import metadata_table
from gristmill.lake.store.protocol import Store
from gristmill.stages.models.ledger import FolderLedger, read_file
from gristmill.stages.models.training import PLOT, read_metrics
from gristmill.stages.tokenization.files import TokenizerLedger, tokenizer_path

_NAMES = {"rows": "dagster/row_count", "texts": "texts in training", "held out": "texts held out"}
"""Counts of ledgers whose names Dagster's pages use for something else."""


def folder_facts(store: Store, ledger: FolderLedger) -> dict[str, Any]:
    """The metadata of a labelled set or a model: its counts, and the measures of a model that was trained here."""
    counts = dict(_counts(ledger))
    return {
        **_measures(store, ledger, counts),
        "made from": ", ".join(f"{asset} {snapshot}".strip() for asset, snapshot, _ in ledger.inputs) or "brought",
        "file names": ", ".join(sorted(ledger.files)),
        "folder": dg.MetadataValue.path(f"{store.url}/{ledger.asset}"),
        "fingerprint": ledger.fingerprint,
    }


def tokenizer_facts(store: Store, ledger: TokenizerLedger) -> dict[str, Any]:
    """The metadata of a tokenizer.

    Args:
        store: the lake.
        ledger: ledger of the tokenizer.
    """
    return {
        "vocabulary": ledger.vocabulary,
        "rows read": ledger.documents,
        "characters read": ledger.characters,
        "sha256": ledger.fingerprint,
        "trained on": ", ".join(f"{asset} {snapshot}" for asset, snapshot, _ in ledger.inputs) or "brought",
        "file": dg.MetadataValue.path(f"{store.url}/{tokenizer_path(ledger.asset.rpartition('/')[2])}"),
    }


def _counts(ledger: FolderLedger) -> Iterator[tuple[str, Any]]:
    """The counts of a ledger by the names that they have on all pages; those of several parts as tables."""
    for name, value in ledger.facts.items():
        if isinstance(value, list):
            yield name, len(value)
        elif not isinstance(value, dict):
            yield _NAMES.get(name, name), value
        elif name == "left out":
            yield (
                "dropped by reason",
                metadata_table([{"reason": reason, "rows": rows} for reason, rows in value.items()]),
            )
        elif name == "labels":
            each = [(split, label, rows) for split, counts in value.items() for label, rows in counts.items()]
            yield (
                "rows by label",
                metadata_table([{"split": s, "label": label, "rows": rows} for s, label, rows in each]),
            )
        else:
            yield name, ", ".join(f"{number:,} {what}" for what, number in value.items())


def _measures(store: Store, ledger: FolderLedger, counts: dict[str, Any]) -> dict[str, Any]:
    """The counts, and the measures of a model that was trained here."""
    metrics = read_metrics(store, ledger)
    if metrics is None:
        return counts
    counts.pop("baseline", None)  # below, with a name that says what it is
    half = metrics.at_half()
    image = base64.b64encode(read_file(store, ledger, PLOT)).decode()
    return {
        "auc": metrics.auc,
        "auc of the number of words": metrics.baseline,
        "accuracy": metrics.accuracy,
        "accuracy of the commonest label": metrics.commonest,
        "precision at 0.5": half.precision if half.precision is not None else "no text is flagged",
        "recall at 0.5": half.recall,
        "thresholds and confusion": dg.MetadataValue.md(f"![{ledger.asset}](data:image/svg+xml;base64,{image})"),
        **counts,
    }
