"""Runs inside an environment that has the real Levanter, and answers jobs (see tests/support/drivers/peer.py).

Jobs: {"do": "read", "cache", "fields": {name: dtype}, "length", "metadata"}: rows, sequences, warnings of a cache
      {"do": "write", "cache", "rows": [{field: [...]}], "files": bool}: a cache written by Levanter itself
      {"do": "mixed", "config", "length", "count"}: the sequences that a training reads first, the number that each
      component has, and what Levanter warns of
      {"do": "encode", "tokenizer", "texts", "marin"}: ids and metadata of its BatchTokenizer
"""

import base64
import json
import logging
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Job = dict[str, Any]


class Warnings(logging.Handler):
    """Keeps what Levanter warns about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.messages.append(record.getMessage())


def read(job: Job) -> Job:
    """Everything that training could see of a cache."""
    store = import_module("levanter.store.cache")
    datasets = import_module("levanter.data.text.datasets")
    wait = import_module("levanter.utils.thread_utils").blocking_wait
    warnings = Warnings()
    logging.getLogger("levanter").addHandler(warnings)
    exemplar = {field: np.zeros(0, dtype) for field, dtype in job["fields"].items()}
    metadata = store.CacheMetadata(preprocessor_metadata=job["metadata"])
    cache = store.TreeCache.load(job["cache"], exemplar, metadata)
    rows = cache.get_batch_sync(list(range(len(cache)))) if len(cache) else []
    sequences = datasets.TokenSeqDataset(cache, job["length"])
    count = wait(sequences.async_len())
    examples = wait(sequences.get_batch(list(range(count)))) if count else []
    logging.getLogger("levanter").removeHandler(warnings)
    return {
        "rows": [{field: row[field].tolist() for field in exemplar} for row in rows],
        "dtypes": sorted({str(row[field].dtype) for row in rows for field in exemplar}),
        "sequences": [example["input_ids"].tolist() for example in examples],
        "warnings": warnings.messages,
    }


def write(job: Job) -> Job:
    """A cache that Levanter writes; each row's lists become int32 arrays. Its files, if the job wants them."""
    store = import_module("levanter.store.cache")
    rows = [{field: np.array(values, np.int32) for field, values in row.items()} for row in job["rows"]]
    exemplar = {field: np.zeros(0, np.int32) for field in rows[0]}
    with store.SerialCacheWriter(job["cache"], exemplar) as writer:
        writer.write_batch(rows)
    files = [path for path in sorted(Path(job["cache"]).rglob("*")) if path.is_file() and job.get("files")]
    return {str(path.relative_to(job["cache"])): base64.b64encode(path.read_bytes()).decode() for path in files}


def encode(job: Job) -> Job:
    """The ids that Levanter's own build would cache."""
    tokenizer = import_module("levanter.tokenizers").load_tokenizer(job["tokenizer"])
    module = import_module("levanter.data.text._batch_tokenizer")
    processor = module.BatchTokenizer(tokenizer, long_string_workaround=job["marin"])
    rows = processor([{"text": text} for text in job["texts"]])
    return {"ids": [list(row["input_ids"]) for row in rows], "metadata": processor.metadata}


def process(job: Job) -> Job:
    """The rows that Levanter's own build of a format would cache, or its error's words."""
    tokenizer = import_module("levanter.tokenizers").load_tokenizer(job["tokenizer"])
    config = import_module("levanter.data.text.formats").LmDatasetFormatBase
    declared = dict(job["format"])
    processor = config.get_choice_class(declared.pop("type"))(**declared).build_preprocessor(tokenizer)
    rows = []
    for row in job["rows"]:  # one by one: a batch dies with its first bad row
        try:
            (made,) = processor([row])
            rows.append({field: np.asarray(values).tolist() for field, values in made.items()})
        except Exception as error:  # noqa: BLE001 - whatever it says is the answer
            rows.append({"error": f"{type(error).__name__}: {error}"})
    return {"rows": rows, "metadata": processor.metadata}


def template(job: Job) -> Job:
    """What transformers makes of conversations: ids and masks."""
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(job["tokenizer"])
    made = [
        tokenizer.apply_chat_template(
            row["messages"],
            chat_template=job["template"],
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        for row in job["rows"]
    ]
    return {"rows": [{"input_ids": m["input_ids"], "assistant_masks": m["assistant_masks"]} for m in made]}


def configured(job: Job) -> Job:
    """What a training configuration gives: rows of each component and split, by way of its cache catalog."""
    module = import_module("levanter.data.text.datasets")
    config = import_module("draccus").decode(module.LmDataConfig, json.loads(job["config"]))
    found: Job = {}
    for split in job["splits"]:
        for name, cache in config.build_caches(split).items():
            rows = cache.get_batch_sync(list(range(len(cache)))) if len(cache) else []
            found[f"{name}/{split}"] = [{field: row[field].tolist() for field in row} for row in rows]
    return found


def mixed(job: Job) -> Job:
    """The first sequences of the mixture that a training reads, without padding or loss; and what Levanter warns of."""
    module = import_module("levanter.data.text.datasets")
    warnings = Warnings()
    logging.getLogger("levanter").addHandler(warnings)
    config = import_module("draccus").decode(module.LmDataConfig, json.loads(job["config"]))
    axis = import_module("haliax").Axis("position", job["length"])
    schedule = import_module("levanter.schedule").BatchSchedule(job["count"])
    key = import_module("jax").random.PRNGKey(0)
    mixture = config.train_mixture(axis, schedule, key=key)
    read = mixture.as_sync_dataset().get_batch(list(range(job["count"])))
    logging.getLogger("levanter").removeHandler(warnings)
    wait = import_module("levanter.utils.thread_utils").blocking_wait
    return {
        "sequences": [held(each) for each in read],
        "there": {name: wait(dataset.async_len()) for name, dataset in mixture.datasets.items()},
        "warnings": warnings.messages,
    }


def held(example: Any) -> list[int]:
    """The tokens of a sequence; padding has the segment -1."""
    tokens, segments = np.asarray(example.tokens), example.attn_mask.segment_ids
    found: list[int] = (tokens if segments is None else tokens[np.asarray(segments[0]) >= 0]).tolist()
    return found


DO = {
    "read": read,
    "write": write,
    "encode": encode,
    "process": process,
    "template": template,
    "configured": configured,
    "mixed": mixed,
    "pack": lambda job: import_module("examples_client").pack(job),
    "examples": lambda job: import_module("examples_client").examples(job),
}


if __name__ == "__main__":
    import_module("answering").serve(DO)
