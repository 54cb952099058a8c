"""The tokenizers that are measured with: trained on the corpus, always to the same file, or brought."""

import gzip
import json
import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from bench.inputs.corpus import texts
from bench.inputs.real_corpus import real_texts
from bench.inputs.shelf import EOS

VOCABULARY = 20_000
SIZE = 6_000_000  # bytes of text to train on
SEED = 5
LARGE = 100_000
LARGE_SIZE = 30_000_000
SAMPLE, BROUGHT = "GRISTMILL_SAMPLE_DATA", "GRISTMILL_BENCH_TOKENIZER"
NEOX = "tokenizers/gpt-neox-olmo-dolma-v1_5/tokenizer.json.gz"
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
"""How vocabularies of 100,000 entries (cl100k and what came of it) cut text."""


def pair(folder: Path) -> dict[str, Path]:
    """The two tokenizers that are compared with, by name.

    `50k` is GPT-NeoX's where GRISTMILL_SAMPLE_DATA has it, `100k` the file that GRISTMILL_BENCH_TOKENIZER names; else
    they are trained, the large one on the sample data's texts too: the corpus alone has words for some 78,000 entries.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sample, brought = os.environ.get(SAMPLE), os.environ.get(BROUGHT)
    small, large = folder / "50k.json", folder / "100k.json"
    if sample:
        write(small, json.loads(gzip.decompress((Path(sample) / NEOX).read_bytes())))
    else:
        write_tokenizer(small, 50_000, LARGE_SIZE)
    if brought:
        write(large, json.loads(Path(brought).read_bytes()))
    else:
        cut = pre_tokenizers.Split(Regex(WORDS), "removed", invert=True)
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        stock = chain(texts(SEED, LARGE_SIZE), real_texts(Path(sample)) if sample else ())
        write(large, _trained(pre_tokenizers.Sequence([cut, byte_level]), None, LARGE, stock))
    return {"50k": small, "100k": large}


def write_tokenizer(path: Path, vocabulary: int = VOCABULARY, size: int = SIZE) -> Path:
    """A byte-level BPE behind NFC, cut as GPT-2 cuts."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return write(path, _trained(cut, normalizers.NFC(), vocabulary, texts(SEED, size)))


def write(path: Path, declared: dict[str, Any]) -> Path:
    """Writes a tokenizer in the form that the peers read too.

    Dolma's `tokenizers` (0.19) reads merges only in their older form; byte-level tokens hold no spaces.
    """
    merges = declared["model"]["merges"]
    declared["model"]["merges"] = [each if isinstance(each, str) else " ".join(each) for each in merges]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(declared), "utf-8")
    return path


def _trained(cut: Any, normalizer: Any, vocabulary: int, stock: Iterable[str]) -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(stock, trainer)
    found: dict[str, Any] = json.loads(tokenizer.to_str())
    return found
