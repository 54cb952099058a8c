"""What the benches of token caches compare with: counted on a few documents of one's own."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from bench.inputs.bpe import BROUGHT, pair, write
from bench.inputs.conversations import conversations, write_conversations
from bench.inputs.shelf import EOS
from bench.tokens.peers import read, same_as_datatrove

TEXTS = ("one two", "", "three\u2026")


def small(path: Path, *, pairs: bool = False) -> Path:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(special_tokens=[EOS], initial_alphabet=alphabet, vocab_size=260, show_progress=False)
    tokenizer.train_from_iterator(["one two one two"], trainer)
    declared = json.loads(tokenizer.to_str())
    if pairs:
        path.write_text(json.dumps(declared))
        return path
    return write(path, declared)


def shard(path: Path) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as rows:
        rows.writelines(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(TEXTS))
    return path


def test_a_brought_tokenizer_is_written_with_merges_that_old_readers_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BROUGHT, str(small(tmp_path / "pairs.json", pairs=True)))
    monkeypatch.setenv("GRISTMILL_SAMPLE_DATA", str(sample(tmp_path)))
    found = pair(tmp_path / "both")
    merges = json.loads(found["100k"].read_bytes())["model"]["merges"]
    assert merges
    assert all(isinstance(each, str) and each.count(" ") == 1 for each in merges)
    assert found["50k"].read_bytes() == found["100k"].read_bytes()


def sample(folder: Path) -> Path:
    path = folder / "tokenizers" / "gpt-neox-olmo-dolma-v1_5" / "tokenizer.json.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(small(folder / "plain.json").read_bytes(), mtime=0))
    return folder


def written(folder: Path, *rows: list[int]) -> Path:
    """What datatrove writes: ids, and where each document ends."""
    (folder / "tokens").mkdir(parents=True)
    np.array([each for row in rows for each in row], np.uint16).tofile(folder / "tokens" / "0_unshuffled.ds")
    np.cumsum([len(row) for row in rows]).astype(np.uint64).tofile(folder / "tokens" / "0_unshuffled.ds.index")
    return folder


@pytest.mark.slow
def test_documents_are_compared_with_datatroves_in_order_and_each_difference_counts(tmp_path: Path) -> None:
    file = small(tmp_path / "t.json")
    tokenizer = Tokenizer.from_file(str(file))
    eos = int(tokenizer.token_to_id(EOS) or 0)
    one, _, three = ([*tokenizer.encode(text).ids, eos] for text in TEXTS)
    documents = shard(tmp_path / "d.jsonl.gz")
    assert [text for _, text in read(documents)] == list(TEXTS)
    same = written(tmp_path / "same", one, three)
    assert same_as_datatrove(documents, file, same) == (2, 2)
    other = written(tmp_path / "other", one, three[:-1])
    assert same_as_datatrove(documents, file, other) == (1, 2)
    more = written(tmp_path / "more", one, three, one)
    assert same_as_datatrove(documents, file, more) == (2, 3)


def test_conversations_are_the_same_every_time_and_for_both(tmp_path: Path) -> None:
    size = write_conversations(tmp_path / "raw", tmp_path / "plain", 20_000)
    assert size >= 20_000
    documents = [json.loads(line) for line in (tmp_path / "raw" / "shard-0000.jsonl").read_bytes().splitlines()]
    with gzip.open(tmp_path / "plain" / "shard-0000.jsonl.gz", "rb") as lines:
        rows = [json.loads(line) for line in lines]
    assert [each["metadata"]["messages"] for each in documents] == [each["messages"] for each in rows]
    assert [each["messages"] for each in rows] == list(conversations(77, 20_000))
    for row in rows:
        roles = [turn["role"] for turn in row["messages"]]
        assert roles[-1] == "assistant"
        assert 2 <= len(roles) <= 7
