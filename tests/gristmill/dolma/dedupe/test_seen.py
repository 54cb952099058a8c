import random

import numpy as np
import pytest

from gristmill.dolma.dedupe.seen import SeenHashes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("values", [2, 40])
def test_it_answers_as_a_plain_set_does(seed: int, values: int) -> None:
    draw = random.Random(seed)
    seen, plain = SeenHashes(), set[tuple[int, int]]()
    for _ in range(30):
        batch = [(draw.randrange(values) << 50, draw.randrange(values)) for _ in range(draw.randrange(40))]
        expected = []
        for pair in batch:
            expected.append(pair in plain)
            plain.add(pair)
        found = seen.add(np.array(batch, np.uint64).reshape(-1, 2))
        assert found.tolist() == expected
        assert len(seen) == len(plain)


def test_a_hash_takes_sixteen_bytes() -> None:
    seen = SeenHashes()
    for number in range(64):
        batch = np.arange(100, dtype=np.uint64) + np.uint64(100 * number)
        assert not seen.add(np.stack([batch * np.uint64(2**40), batch], 1)).any()
    assert seen.nbytes == 16 * 6400
