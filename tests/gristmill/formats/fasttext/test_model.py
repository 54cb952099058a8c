"""Small models are trained, and compared with fastText bit for bit."""

import random
from pathlib import Path
from typing import Any

import pytest

from gristmill.formats.fasttext.lid176 import MODEL
from gristmill.formats.fasttext.reading import read_model

WORDS = ["mill", "stream", "wheel", "Mühle", "мельница", "磨坊", "👪", "a", "é", "the-stone", "</s>", "__label__x"]


def texts(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randrange(1, 12))) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(("shortest", "longest"), [(2, 3), (2, 4), (3, 6)])
def test_a_model_says_what_fasttext_says(tmp_path: Path, shortest: int, longest: int) -> None:
    train, saved = tmp_path / "train.txt", tmp_path / "model.bin"
    train.write_text("".join(f"__label__{len(line) % 5} {line}\n" for line in texts(1, 600)))
    engine = trained(train, loss="hs", minn=shortest, maxn=longest)
    engine.quantize(input=str(train), qnorm=True, cutoff=300, retrain=False, dsub=3)
    engine.save_model(str(saved))
    model = read_model(saved.read_bytes())
    asked = [*texts(2, 200), "unknown words only", "mill\tstream"]
    found = [engine.predict(text, k=3, threshold=0.01) for text in asked]
    names = [[label.removeprefix("__label__") for label in labels] for labels, _ in found]
    expected = [
        list(zip(labels, map(float, scores), strict=True)) for labels, (_, scores) in zip(names, found, strict=True)
    ]
    assert model.likeliest(asked, 3, 0.01) == expected


def trained(train: Path, **options: Any) -> Any:
    import fasttext

    return fasttext.train_supervised(
        input=str(train), dim=7, epoch=3, lr=0.5, bucket=500, thread=1, verbose=0, seed=1, **options
    )


def test_columns_are_computed_apart_and_put_in_order() -> None:
    model = read_model(MODEL.read_bytes())
    asked = [
        "All men are born free. " * 3_000,
        "Alle Menschen sind frei, auch der Müller. " * 3_000,
        "",
        "free",
        "Mühle",
    ]
    together = model.likeliest(asked, 3, 0.01)
    assert together == [model.likeliest([text], 3, 0.01)[0] for text in asked]
    assert [languages[0][0] for languages in together[:2]] == ["en", "de"]
