import pytest
from tinybpe import trained
from tokenizers import Tokenizer, normalizers


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return trained(normalizer=normalizers.NFC())
