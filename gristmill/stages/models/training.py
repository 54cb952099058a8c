"""Puts a model into the lake: trained on a labelled set and measured on its held-out texts, indexed, or brought.

The same labelled set and recipe give the same bytes every time: one thread, a fixed seed, and an order of the texts
that a hash decides.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.execution.work import Say
from gristmill.extras import extra
from gristmill.lake.asset_kinds import MODEL
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.folders.whole_folder import is_whole
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.protocol import Store
from gristmill.recipes.models.fasttext import PREFIX, line_of, load_classifier, probabilities
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.reports.classifier import classifier_page, draw_classifier
from gristmill.stages.models.brought import brought_files
from gristmill.stages.models.labels import HELD_OUT, TRAIN, LabelledText, make_labels, read_labels
from gristmill.stages.models.ledger import (
    FolderLedger,
    check_same_recipe,
    find_folder_ledger,
    ledger_to_keep,
    read_file,
    write_folder,
)
from gristmill.stages.models.metrics import Metrics, measure_classifier
from gristmill.stages.models.overlaps import has_other_documents, make_overlaps

METRICS, REPORT, PLOT = "metrics.json", "report.html", "report.svg"


def make_model(store: Store, model: Model, say: Say) -> tuple[FolderLedger, bool]:
    """Makes a model, or brings its files. One that is in the lake is kept, but not a draft that is out of date.

    A draft is out of date if its recipe changed, or the labelled set or the documents that it was made of.

    Args:
        store: the lake.
        model: the recipe.
        say: function that receives lines of progress.

    Returns:
        The ledger, and whether it was made now.

    Raises:
        RecipeError: the lake has another model of this name; or a file to bring is wrong.
        DataError: the labelled set is not in the lake, or no classifier can be trained on it.
    """
    asset, recipe = MODEL.at(model=model.name), model.recipe
    old = find_folder_ledger(store, asset)
    if old is not None:
        check_same_recipe(old, recipe)
        other = has_other_documents(store, old, model.overlaps) if model.overlaps else has_other_labels(store, old)
        same = old.recipe.digest == recipe.digest and not (model.draft and other)
        if same and is_whole(store, asset, old.files):
            for name in old.opened:
                read_file(store, old, name)
            return ledger_to_keep(store, old, recipe), False
    if model.overlaps is not None:
        return make_overlaps(store, model, model.overlaps, say, old), True
    if model.training is None:
        files = brought_files(store, model)
        ledger = write_folder(store, asset, recipe, (), files, tuple(files), {}, old=old, folder=model.is_folder)
        say(f"{asset}: brought {', '.join(files)}")
        return ledger, True
    return _train_model_folder(store, model, model.training, say, old), True


def make_model_or_labels(store: Store, recipe: LabelledSet | Model, say: Say) -> tuple[FolderLedger, bool]:
    """Makes a labelled set or a model: see make_labels() and make_model().

    Returns:
        The ledger, and whether it was made now.
    """
    return make_model(store, recipe, say) if isinstance(recipe, Model) else make_labels(store, recipe, say)


def has_other_labels(store: Store, ledger: FolderLedger) -> bool:
    """Whether the labelled set that a model was trained on has changed since. One that is lost has not changed."""
    found = [(find_folder_ledger(store, asset), fingerprint) for asset, _, fingerprint in ledger.inputs]
    return any(labels is not None and labels.fingerprint != fingerprint for labels, fingerprint in found)


def read_metrics(store: Store, ledger: FolderLedger) -> Metrics | None:
    """The measures of a model that was trained here; None if it was brought."""
    if METRICS not in ledger.files:
        return None
    return msgspec.json.decode(read_file(store, ledger, METRICS), type=Metrics)


def _train_model_folder(
    store: Store, model: Model, training: FastTextTraining, say: Say, old: FolderLedger | None
) -> FolderLedger:
    labels, rows = read_labels(store, training.labels)
    train = [row for row in rows if row.split == TRAIN]
    held = [row for row in rows if row.split == HELD_OUT]
    _check_training_rows(training, train, held)
    say(f"training on {len(train):,} texts of {labels.asset}")
    with tempfile.TemporaryDirectory(prefix="gristmill-model-") as folder:
        path = Path(folder) / training.file
        _train_classifier_file(training, train, path)
        classifier = load_classifier(path, f"model {model.name!r}")
        given = probabilities(classifier, [row.text for row in held])
        data = path.read_bytes()
    metrics = measure_classifier(
        training.positive, [row.label for row in held], given, [len(row.text.split()) for row in held]
    )
    facts: dict[str, Any] = {
        "auc": metrics.auc,
        "baseline": metrics.baseline,
        "texts": len(train),
        "held out": len(held),
    }
    plot = draw_classifier(metrics, model.name)
    files = {
        training.file: data,
        METRICS: as_json(metrics),
        PLOT: plot.encode(),
        REPORT: classifier_page(metrics, model.name, labels.asset, plot).encode(),
    }
    asset, inputs = MODEL.at(model=model.name), ((labels.asset, "", labels.fingerprint),)
    ledger = write_folder(store, asset, model.recipe, inputs, files, (training.file,), facts, old=old)
    say(f"{asset}: AUC {metrics.auc:.3f} on {len(held):,} held-out texts; by number of words {metrics.baseline:.3f}")
    return ledger


def _check_training_rows(
    training: FastTextTraining, train: Sequence[LabelledText], held: Sequence[LabelledText]
) -> None:
    """Checks that there is something to learn, and something to measure.

    Raises:
        RecipeError: no text has the positive label.
        DataError: the texts that train, or those that are held out, have only one label.
    """
    labels = sorted({row.label for row in train})
    if training.positive not in labels:
        raise RecipeError(
            f"training on labels {training.labels!r}: positive={training.positive!r} is no label of a text that trains;"
            f" {known_names(training.positive, dict.fromkeys(labels))}"
        )
    for what, rows in (("that train", train), ("that are held out", held)):
        counts = Counter(row.label == training.positive for row in rows)
        if len(counts) < 2:
            raise DataError(
                f"training on labels {training.labels!r}: of {len(rows)} texts {what}, {counts[True]} have the label"
                f" {training.positive!r}; both this label and others are needed: add texts, or raise held_out="
            )


def _train_classifier_file(training: FastTextTraining, rows: Sequence[LabelledText], path: Path) -> None:
    """Trains a classifier, and writes its file.

    Raises:
        DataError: fastText cannot learn from these texts.
    """
    with extra():
        import fasttext  # noqa: PLC0415 - an extra

    lines = path.with_suffix(".txt")
    mixed = sorted(rows, key=lambda row: (draw_fraction(("training", row.text), training.seed), row.label, row.text))
    with lines.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{PREFIX}{row.label} {line_of(row.text)}\n" for row in mixed)
    try:
        classifier = fasttext.train_supervised(
            str(lines),
            dim=training.dim,
            epoch=training.epochs,
            lr=training.rate,
            wordNgrams=training.word_ngrams,
            minCount=training.min_count,
            minn=training.letters[0],
            maxn=training.letters[1],
            bucket=training.buckets,
            seed=training.seed,
            thread=1,  # threads would race for the vectors
            verbose=0,
        )
        if training.quantize:
            classifier.quantize()
        classifier.save_model(str(path))
    except (RuntimeError, ValueError) as error:  # such as NaN at a rate that is too high
        raise DataError(
            f"training on labels {training.labels!r}: fastText stopped ({error}); lower rate= or dim=, or add texts"
        ) from error
