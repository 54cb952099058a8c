import pytest

from gristmill.formats.fasttext.lid176 import languages_of
from gristmill.lake.rows.document import Document, Span
from gristmill.taggers.languages.paragraphs import PARAGRAPHS

ENGLISH, GERMAN = "The mill stands by the river.", "Die Mühle steht am Fluss, 👪."


def test_the_score_of_a_document_is_the_sum_of_length_times_probability() -> None:
    text = f"{ENGLISH}\n\n{GERMAN}"
    labels = PARAGRAPHS.look([Document(id="0", text=text, source="t")])
    english, german = (dict(languages_of([line.lower()])[0]) for line in (ENGLISH, GERMAN))
    assert labels["en"] == [[Span(0, 30, english["en"]), *([Span(31, 59, german["en"])] if "en" in german else [])]]
    assert labels["de"][0] == [Span(31, 59, german["de"])]
    assert labels["doc_de"][0] == pytest.approx(28 * german["de"] / 59, abs=1e-5)


def test_documents_without_words_have_no_label() -> None:
    assert PARAGRAPHS.look([Document(id="0", text=text, source="t") for text in ("", "\n \n", "\0")]) == {}


def test_a_document_of_one_paragraph_has_its_probability() -> None:
    labels = PARAGRAPHS.look([Document(id="0", text="", source="t"), Document(id="1", text=ENGLISH, source="t")])
    assert labels["en"] == [None, [Span(0, 29, labels["doc_en"][1])]]  # type: ignore[arg-type] # a score
