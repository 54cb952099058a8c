"""Licences by the SPDX line of a file, and by the text of licence files."""

import pytest

from gristmill.readers.code.licences import LicenceFiles, is_licence_file, licence_of_text, stated_licence

MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this ... The above copyright"
    " notice and this permission notice shall be included"
)
ISC = "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee"
BSD = "Redistribution and use in source and binary forms, with or without modification, are permitted provided that"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (f"# MIT License\n{MIT}", "MIT"),
        (MIT.partition(" ...")[0], "MIT-0"),
        (f"{ISC}, provided that the above copyright notice", "ISC"),
        (ISC, "0BSD"),
        (BSD, "BSD-2-Clause"),
        (f"{BSD} * Neither the name of Ann nor", "BSD-3-Clause"),
        (f"{BSD} All advertising materials mentioning features", "BSD-4-Clause"),
        ("                Apache License\n           Version 2.0, January 2004", "Apache-2.0"),
        (
            "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007 ... GNU Affero General Public License Version 3",
            "GPL-3.0-only",
        ),
        ("GNU AFFERO GENERAL PUBLIC LICENSE Version 3 ... GNU General Public License, version 3", "AGPL-3.0-only"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n  Version 2.1, February 1999", "LGPL-2.1-only"),
        ("Mozilla Public License Version 2.0\n====", "MPL-2.0"),
        ("Eclipse Public License - v 2.0", "EPL-2.0"),
        ("Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Attribution 4.0 International\n===", "CC-BY-4.0"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("SPDX-License-Identifier: EUPL-1.2", "EUPL-1.2"),
        ("All rights reserved.", "NOASSERTION"),
        ("", "NOASSERTION"),
    ],
)
def test_a_licence_is_known_by_the_first_phrase_of_its_text(text: str, licence: str) -> None:
    assert licence_of_text(text) == licence


def test_an_spdx_line_counts_at_the_beginning_of_a_file_alone() -> None:
    assert (
        stated_licence("// SPDX-License-Identifier: (MIT OR Apache-2.0) AND BSD-3-Clause -->")
        == "(MIT OR Apache-2.0) AND BSD-3-Clause"
    )
    assert (
        stated_licence("# SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note\n")
        == "GPL-2.0-only WITH Linux-syscall-note"
    )
    assert stated_licence("# SPDX-License-Identifier: \n") == ""
    assert stated_licence("\n" * 5000 + "# SPDX-License-Identifier: MIT") == ""


def test_only_texts_are_licence_files() -> None:
    yes = ("LICENSE", "a/LICENCE.md", "COPYING", "UNLICENSE", "LICENSE-APACHE", "LICENSE_MIT.txt", "mit-license")
    no = ("license.rs", "LICENSES/MIT.txt/x", "licensed", "src/copying.c", "LICENSE.html")
    assert [is_licence_file(each) for each in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_the_nearest_folder_decides_and_several_files_count_together() -> None:
    licences = LicenceFiles()
    licences.add("LICENSE-MIT", MIT)
    licences.add("LICENSE-APACHE", "Apache License Version 2.0")
    licences.add("lib/LICENSE", BSD)
    assert licences.of("src/deep/a.rs") == ("Apache-2.0 AND MIT", "LICENSE-APACHE, LICENSE-MIT")
    assert licences.of("lib/x/a.rs") == ("BSD-2-Clause", "lib/LICENSE")
    assert licences.of("library/a.rs")[0] == "Apache-2.0 AND MIT"
    licences.add("lib/COPYING", "?")
    assert licences.of("lib/a.rs") == ("NOASSERTION", "lib/COPYING, lib/LICENSE")
