import pytest

from gristmill.formats.oscar.labels import PUBLISHED, bcp47_tag, has_tag_form, label_of_tag


@pytest.mark.parametrize("label", ["", "en_US", "en-", "-en", "english99", "e n", "en\n", "é", "../en", "x--eml"])
def test_a_label_of_another_form_is_none(label: str) -> None:
    assert not has_tag_form(label)
    assert label_of_tag(label) == "und"


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_every_published_label_has_the_form(schema: str) -> None:
    assert all(map(has_tag_form, PUBLISHED[schema]))
    assert len(PUBLISHED[schema]) == 177  # fastText's 176 languages, and `multi`


def test_the_two_renamed_labels_differ_between_the_schemas() -> None:
    assert PUBLISHED["22.01"] - PUBLISHED["23.01"] == {"als", "eml"}
    assert PUBLISHED["23.01"] - PUBLISHED["22.01"] == {"gsw", "x-eml"}
    assert [bcp47_tag(label, "22.01") for label in ("als", "Eml", "multi", "ar-Arab")] == [
        "gsw",
        "x-eml",
        "mul",
        "ar-Arab",
    ]
