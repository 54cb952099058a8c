from gristmill.formats.fasttext.features import MISSING
from gristmill.formats.fasttext.lid176 import MODEL
from gristmill.formats.fasttext.reading import read_model


def test_the_parts_of_the_model_of_languages() -> None:
    model = read_model(MODEL.read_bytes())
    assert (len(model.labels), len(model.rows.features.words), model.vectors.shape) == (176, 7_235, (50_000, 16))
    assert model.labels[:3] == ("en", "ru", "de")
    assert (model.rows.features.shortest, model.rows.features.longest) == (2, 4)
    assert (model.rows.features.buckets != MISSING).sum() == 42_765
