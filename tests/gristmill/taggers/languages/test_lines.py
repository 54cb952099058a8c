from gristmill.lake.rows.document import Document
from gristmill.taggers.languages.lines import LINES

TEXT = "👪 The mill stands by the river.\n\n \nDie Mühle steht am Fluss.\r\nThe river is wide, and the mill is old."


def test_each_line_stands_under_its_likeliest_language() -> None:
    labels = LINES.look([Document(id="0", text="", source="t"), Document(id="1", text=TEXT, source="t")])
    found = {code: spans[1] for code, spans in labels.items() if isinstance(spans[1], list)}
    assert {code: [TEXT[start:end] for start, end, _ in spans] for code, spans in found.items()} == {
        "en": ["👪 The mill stands by the river.", "The river is wide, and the mill is old."],
        "de": ["Die Mühle steht am Fluss.\r"],
    }
    assert labels["share_en"] == [None, round(70 / 96, 5)]
    assert labels["share_de"] == [None, round(26 / 96, 5)]


def test_documents_without_words_have_no_label() -> None:
    assert LINES.look([Document(id="0", text=text, source="t") for text in ("", "\n \n", "\0")]) == {}
