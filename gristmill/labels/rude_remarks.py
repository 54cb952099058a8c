"""RUDE_REMARKS: short sentences of our own, mild insults against neutral ones, made from 24 patterns.

It is small and artificial: it shows how a classifier is trained. Train one for work on real remarks
(docs/how-to/train-a-classifier.md). The sentences are in the public domain (CC0).
"""

from pathlib import Path

from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.models.labelled_set import LabelledSet

RUDE_REMARKS = LabelledSet(
    name="rude-remarks",
    file=str(Path(__file__).with_name("rude_remarks.jsonl")),
    sha256="35cc2f4360e291071241c39bd438dc6a3ef4fb4d860977f1d36816e6d9efca87",
    read=JsonLines(source="rude-remarks", id_key=None),
    label="label",
    split="split",
    description="Short sentences made from 24 patterns: mild insults against neutral ones.",
)
