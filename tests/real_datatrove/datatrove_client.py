"""Runs inside an environment that has the real datatrove, and answers jobs (see tests/support/drivers/peer.py).

Jobs: {"do": "words", "rows"}: for each text how many words its splitter for English finds, or null if it raised
      {"do": "fineweb", "rows", "thresholds", "words"}: for each text, for each of its lists of thresholds, the reason
          for which FineWebQualityFilter removes it, or "kept". `words` are the numbers of words that its splitter shall
          find; null leaves the splitter as it is
"""

import json
import logging
import sys
from importlib import import_module
from typing import Any

Job = dict[str, Any]

fineweb_module: Any = import_module("datatrove.pipeline.filters.fineweb_quality_filter")
Document: Any = import_module("datatrove.data").Document
split_into_words: Any = import_module("datatrove.utils.text").split_into_words

THRESHOLDS = ("line_punct_thr", "short_line_threshold", "char_duplicates_ratio", "new_line_ratio")


def words(job: Job) -> Job:
    """The number of words of each text."""
    return {"rows": [_count(text) for text in job["rows"]]}


def _count(text: str) -> int | None:
    try:
        return len(split_into_words(text))
    except Exception:  # noqa: BLE001 - whatever it raises, it has no answer
        return None


def fineweb(job: Job) -> Job:
    """The verdicts of the filter."""
    judge = fineweb_module.FineWebQualityFilter()
    if job["words"] is not None:
        counts = dict(zip(job["rows"], job["words"], strict=True))
        fineweb_module.split_into_words = lambda text, _: range(counts[text])
    pairs = zip(job["rows"], job["thresholds"], strict=True)
    verdicts = [[_verdict(judge, text, each) for each in thresholds] for text, thresholds in pairs]
    fineweb_module.split_into_words = split_into_words
    return {"rows": verdicts}


def _verdict(judge: Any, text: str, thresholds: list[float]) -> str:
    for name, value in zip(THRESHOLDS, thresholds, strict=True):
        setattr(judge, name, value)
    kept = judge.filter(Document(text=text, id="row"))
    return "kept" if kept is True else str(kept[1])


DO = {"words": words, "fineweb": fineweb}


def main() -> None:
    """Answers until there are no more jobs."""
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps([DO[job["do"]](job) for job in json.loads(line)]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
