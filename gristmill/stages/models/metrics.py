"""How well a classifier tells labels apart, measured on texts that it was not trained on."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

DIGITS = 6


class Threshold(msgspec.Struct, frozen=True):
    """What happens if texts whose score is at least `at` count as positive.

    Attributes:
        at: the threshold.
        precision: share of positive texts among them; None: there are none.
        recall: share of the positive texts that are among them.
        flagged: their share of all texts.
    """

    at: float
    precision: float | None
    recall: float
    flagged: float


class Metrics(msgspec.Struct, frozen=True):
    """The measures of a classifier on T held-out texts.

    Attributes:
        positive: the label whose probability is the score.
        texts: T.
        positives: number of texts that have this label.
        auc: probability that a positive text has a higher score than another; 0.5 is a coin.
        baseline: the AUC of the number of words as the score, or of its negative; the larger one.
        accuracy: share of texts whose likeliest label is theirs.
        commonest: the accuracy of always saying the commonest label.
        labels: the labels, sorted.
        confusion: numbers of texts by label and likeliest label: for each label, how many of its texts have each label
            as their likeliest, in the order of `labels`.
        thresholds: thresholds from 0 to 1, by 0.05.
    """

    positive: str
    texts: int
    positives: int
    auc: float
    baseline: float
    accuracy: float
    commonest: float
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    thresholds: tuple[Threshold, ...]

    def at_half(self) -> Threshold:
        """The threshold 0.5."""
        return next(each for each in self.thresholds if each.at == 0.5)


def area_under_roc(scores: npt.ArrayLike, is_positive: npt.ArrayLike) -> float:
    """The area under the curve of hits by false alarms: the probability that a positive has the higher score.

    Equal scores count half. Source: Hanley and McNeil 1982; the rank sum of Mann and Whitney.

    Args:
        scores: scores of the texts, float, shape (n,).
        is_positive: flags of the texts, bool, shape (n,); at least one is true, and one is not.

    >>> area_under_roc([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    0.75
    """
    positive = np.asarray(is_positive, np.bool_)
    _, places, counts = np.unique(np.asarray(scores, np.float64), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    hits = int(positive.sum())
    area = (ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * (len(positive) - hits))
    return round(float(area), DIGITS)


def measure_classifier(
    positive: str, labels: Sequence[str], given: Sequence[Mapping[str, float]], words: Sequence[int]
) -> Metrics:
    """The measures of a classifier.

    Args:
        positive: the label whose probability is the score.
        labels: the label of each held-out text.
        given: the probabilities that the classifier gives each text, by label.
        words: number of words of each text, for the baseline.
    """
    truth = np.array([label == positive for label in labels], np.bool_)
    scores = np.array([row.get(positive, 0.0) for row in given], np.float64)
    names = tuple(sorted({*labels, *(label for row in given for label in row)}))
    number = {name: index for index, name in enumerate(names)}
    confusion = np.zeros((len(names), len(names)), np.int64)
    for label, row in zip(labels, given, strict=True):
        confusion[number[label], number[max(row, key=lambda name: (row[name], name))]] += 1
    by_words = area_under_roc(words, truth)
    return Metrics(
        positive=positive,
        texts=len(truth),
        positives=int(truth.sum()),
        auc=area_under_roc(scores, truth),
        baseline=max(by_words, round(1 - by_words, DIGITS)),
        accuracy=round(float(np.trace(confusion)) / len(truth), DIGITS),
        commonest=round(float(confusion.sum(axis=1).max()) / len(truth), DIGITS),
        labels=names,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        thresholds=tuple(_threshold_metrics(step / 20, scores, truth) for step in range(21)),
    )


def _threshold_metrics(at: float, scores: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_]) -> Threshold:
    flagged = scores >= at
    hits, count = int((flagged & truth).sum()), int(flagged.sum())
    precision = round(hits / count, DIGITS) if count else None
    return Threshold(at, precision, round(hits / int(truth.sum()), DIGITS), round(count / len(truth), DIGITS))
