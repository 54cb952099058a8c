"""The starter tokenizer: byte-level BPE trained here, on one edition of the packages."""

from gristmill.recipes.tokenizer import Tokenizer, Training

STARTER_BPE = Tokenizer(
    name="starter-bpe-1",
    description="16,384 entries of byte-level BPE, trained on the 2025 edition of the starter mix's packages",
    training=Training(mix="starter", snapshots={"packages": ("2025-12",)}, vocabulary=16_384),
)
