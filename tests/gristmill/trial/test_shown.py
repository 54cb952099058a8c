from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.trial.pieces import Drawn, DrawnSample
from gristmill.trial.shown import trial_lines
from gristmill.trial.trial import run_trial

DIGITS = "0123456789" * 9


def shown(tagger: Tagger, *texts: str) -> list[str]:
    rows = [Drawn("a", n, Document(id=f"d{n}", text=text, source="tales")) for n, text in enumerate(texts)]
    sample = DrawnSample("sources/tales/v0/documents", "2024", rows, 1, 7, 40)
    return list(trial_lines(tagger, sample, run_trial(tagger, rows), 1))


def test_scores_have_their_quantiles_a_histogram_and_their_extremes() -> None:
    tagger = Tagger(name="length-1", document=lambda document: {"length": float(len(document.text)) or None})
    head, _, _, *lines = shown(tagger, "", "a", "bb", "bb\nb", *["c" * 11] * 7)
    assert head == "length-1 on sources/tales/v0/documents (2024): 11 rows of the 40 in 1 of 7 pieces, drawn by hash"
    assert lines == [
        "length: 10 scores of 11 rows",
        "  least 1  5% 1  25% 4  50% 11  75% 11  95% 11  most 11",
        "  1 ▂▁▂▁▁▁▁▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█ 11",
        "  lowest           1  a row 1  d1",
        "    | a",
        "  highest         11  a row 10  d10",
        "    | ccccccccccc",
    ]


def test_spans_stand_in_their_context_by_code_points() -> None:
    def tag(document: Document) -> dict[str, Label]:
        start = document.text.find("word")
        return {"found": [Span(start, start + 4, 0.5)] if start >= 0 else []}

    lines = shown(Tagger(name="found-1", document=tag), "none", "e\u0301 👩‍🚀\n word\tx", DIGITS + "word" + DIGITS)
    assert lines[3:] == [
        "found: 2 spans in 2 of 3 rows, 8 of 202 code points",
        "  a row 1  d1 [8, 12) 0.5",
        "    | e\u0301 👩‍🚀  >>word<< x",
    ]


def test_a_long_span_loses_its_middle() -> None:
    tagger = Tagger(name="whole-1", document=lambda document: {"whole": [Span(0, len(document.text), 1.0)]})
    assert shown(tagger, DIGITS * 2)[-1] == f"    | >>{DIGITS[:40]} ... {DIGITS[50:]}<<"


def test_a_declared_label_that_no_document_has_is_named() -> None:
    tagger = Tagger(
        name="rare-1", document=lambda _: {}, labels=[Score(name, "rare", optional=True) for name in ("rare", "en*")]
    )
    assert shown(tagger, "a")[-1] == "no document has: rare"


def test_of_many_labels_the_frequent_ones_are_shown() -> None:
    tagger = Tagger(name="many-1", document=lambda document: {f"w{n:02}": 1.0 for n in range(len(document.text))})
    lines = shown(tagger, "a" * 70, "a" * 30)
    assert "w59: 1 score of 2 rows" in lines
    assert "w60: 1 score of 2 rows" not in lines
    assert "and 10 labels that fewer documents have" in lines
