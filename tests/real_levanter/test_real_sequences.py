"""The real trainer's mixture reads the declared shares of tokens, though sequences are packed and documents cut."""

import json
from collections import Counter

import pytest
from packedlake import IDS, INDEX, indexes_of, make_caches, mix_of
from peer import Ask
from testkit import Mill

SHARES = {"texts": 0.5, "talks": 0.3, "built": 0.2}
BLOCK = 512
STREAM_OF = {token: stream for stream, token in IDS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("length", [32, 256, 1024])
def test_training_reads_the_declared_shares_of_tokens_in_whole_blocks(levanter: Ask, mill: Mill, length: int) -> None:
    """Conversations have 20 to 190 tokens: most are cut in sequences of 32, and in longer ones there is padding."""
    mix = mix_of(*SHARES, sequence_length=length, proportions=SHARES, block=BLOCK, token_budget=40_000)
    talks = [20 + number * 37 % 171 for number in range(300)]
    make_caches(mill, mix, texts=[90] * 400, talks=talks, built=[length] * 40)
    indexes_of(mill, mix).close(mill.store)
    config = mill.store.read(f"{INDEX}/data.yaml").decode()
    (found,) = levanter({"do": "mixed", "config": config, "length": length, "count": 2 * BLOCK})
    read = Counter[str]()
    for sequence in found["sequences"]:
        read[STREAM_OF[sequence[0]]] += len(sequence)
    shares = {stream: tokens / read.total() for stream, tokens in read.items()}
    assert shares == pytest.approx(SHARES, abs=0.005)
    told = json.loads(mill.store.read(f"{INDEX}/mixture.json"))["streams"]
    assert found["there"] == {each["stream"]: each["sequences"] for each in told}
    assert found["warnings"] == []
