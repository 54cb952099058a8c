"""Licences of Creative Commons by their addresses and short names."""

import pytest

from gristmill.readers.files.creative_commons import creative_commons_licence


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("https://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"),
        ("under (http://creativecommons.org/licenses/by-nc-nd/3.0/igo)", "CC-BY-NC-ND-3.0-IGO"),
        ("http://creativecommons.org/licenses/by/2.0/de/deed.en", "CC-BY-2.0-DE"),
        ("http://creativecommons.org/licenses/by/4.0/legalcode", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by/4.0/de/", "CC-BY-4.0"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("http://creativecommons.org/publicdomain/mark/1.0/", "LicenseRef-Public-Domain-Mark-1.0"),
        ("CC BY-SA 4.0", "CC-BY-SA-4.0"),
        ("CC-BY-NC-3.0", "CC-BY-NC-3.0"),
        ("CC0", "CC0-1.0"),
        ("http://creativecommons.org/", ""),
        ("All rights reserved", ""),
    ],
)
def test_a_licence_is_known_by_address_or_short_name(text: str, licence: str) -> None:
    assert creative_commons_licence(text) == licence
