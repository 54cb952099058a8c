from gristmill.scores.excerpts import excerpt_around_spans


def test_the_other_spans_of_an_excerpt_have_their_places_without_overlaps() -> None:
    text = "x" * 500
    excerpt, first, others = excerpt_around_spans(
        text, [[100, 110, 1.0], [90, 104, 1.0], [105, 120, 1.0], [118, 130, 1.0], [499, 500, 1.0]]
    )
    assert (len(excerpt), first) == (300, (75, 85))
    assert others == ((65, 75), (85, 95), (95, 105))
    assert excerpt_around_spans(text, []) == (text[:300], None, ())
