"""The tokenizer that is measured with: trained on the corpus, always to the same file."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from bench.corpus import texts
from bench.shelf import EOS

VOCABULARY = 20_000
SIZE = 6_000_000  # bytes of text to train on
SEED = 5


def write_tokenizer(path: Path) -> Path:
    """A byte-level BPE behind NFC, in the form that the peer reads too.

    The peer's `tokenizers` (0.19) reads merges only in their older form; byte-level tokens hold no spaces.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(SEED, SIZE), trainer)
    trained = json.loads(tokenizer.to_str())
    trained["model"]["merges"] = [" ".join(pair) for pair in trained["model"]["merges"]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(trained), "utf-8")
    return path
