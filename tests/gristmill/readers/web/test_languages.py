from gristmill.readers.web.languages import language_tag


def test_codes_of_three_letters_become_tags_of_bcp_47() -> None:
    codes = ("eng", "deu", "zho", "spa", "fra", "nno", "nob", "ceb", "ENG")
    assert [language_tag(code) for code in codes] == ["en", "de", "zh", "es", "fr", "nn", "nb", "ceb", "en"]
