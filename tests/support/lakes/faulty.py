"""The work of the faulty tagger, for the tests of all engines."""

from testkit import Mill, make_documents

from gristmill.execution.step import StoredPlan, plan
from gristmill.execution.work import Item


def shards(mill: Mill, **words: str) -> None:
    """Six shards `a` to `f` of one document each; a word tells the faulty tagger what to do with that shard."""
    for number, name in enumerate("abcdef"):
        (row,) = make_documents(1, start=number)
        row["text"] = words.get(name, "word")
        mill.raw(f"{name}.jsonl.gz", [row])
    mill.convert()


def work(mill: Mill, token: str = "token") -> tuple[StoredPlan, list[Item]]:
    """The planned work of the faulty tagger."""
    step = mill.tagging("faulty-1")
    planned = plan(step, mill.lake, token)
    found = step.plan(mill.store)
    names = {target.place.asset: target.wants for target in found.targets}
    return planned, found.items(names, {})
