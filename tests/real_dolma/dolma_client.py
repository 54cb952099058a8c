"""Runs inside an environment that has the real Dolma, and answers jobs (see tests/support/drivers/peer.py).

Jobs: {"do": "tag", "taggers", "rows"}: for each row, for each tagger, its labels as `dolma tag` would write them: spans
          by label, or {"error": text} if the tagger raised. A row is a text, or an object with the fields of a document
      {"do": "names"}: the names of all its taggers
      {"do": "dedupe", "config"}: runs `dolma dedupe` with a configuration file
      {"do": "mix", "config"}: runs `dolma mix` with a configuration file
      {"do": "mixes", "configs"}: runs it with each, in a process of its own: one that fails ends no other
"""

import json
import logging
import os
import sys
from importlib import import_module
from typing import Any

Job = dict[str, Any]
Labels = dict[str, Any]

nltk: Any = import_module("nltk")
nltk.download = lambda *_, **__: False  # else each start asks the network for a model of sentences
registry: Any = import_module("dolma").TaggerRegistry
code: Any = import_module("dolma.taggers.code.code_taggers")
# Its extra `code` is not installed. The taggers that we compare need nothing of it but this expression.
code.check_code_dependencies = lambda: None
code.get_whitespace_regex = lambda: import_module("regex").compile(r"\w+|[^\w\s]+")
Spec: Any = import_module("dolma.core.data_types").InputSpecWithMetadata


def tag(job: Job) -> Labels:
    """The labels of all rows."""
    taggers = {name: registry.get(name)() for name in job["taggers"]}
    specs = [spec(row, number) for number, row in enumerate(job["rows"])]
    return {"rows": [{name: looked(tagger, each) for name, tagger in taggers.items()} for each in specs]}


def spec(row: str | dict[str, Any], number: int) -> Any:
    """A row as its taggers get it."""
    fields = {"text": row} if isinstance(row, str) else row
    return Spec(**{"id": str(number), "source": "rows", **fields})


def looked(tagger: Any, row: Any) -> Labels:
    """What one tagger gives to one row."""
    try:
        labels: Labels = tagger.tag(row)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
        return {"error": f"{type(error).__name__}: {error}"}
    return labels


def names(_: Job) -> Labels:
    """All its taggers."""
    return {"names": sorted(name for name, _ in registry.items())}


def run(job: Job) -> Labels:
    """Runs its deduper or mixer as its command line does. They need keys of a bucket even for files."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    sys.argv = ["dolma", "-c", job["config"], job["do"]]
    import_module("dolma.cli.main").main()
    return {}


def mixes(job: Job) -> Labels:
    """Runs its mixer in forks."""
    for config in job["configs"]:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        try:
            run({"do": "mix", "config": config})
        finally:
            os._exit(0)
    return {}


DO = {"tag": tag, "names": names, "dedupe": run, "mix": run, "mixes": mixes}


def main() -> None:
    """Answers until there are no more jobs."""
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps([DO[job["do"]](job) for job in json.loads(line)]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
