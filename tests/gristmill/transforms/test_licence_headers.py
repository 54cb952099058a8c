import pytest

from gristmill.lake.rows.document import Document
from gristmill.transforms.licence_headers import LICENCE_HEADERS


def answer(text: str) -> object:
    (found,) = LICENCE_HEADERS.apply([Document(id="d1", source="pages", text=text)])
    return found.text if isinstance(found, Document) else found


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("/* Copyright 2024 A. Uthor */\nint x;\n", "int x;\n"),
        ("// Copyright 2024\n// MIT\n\nint x;\n", "int x;\n"),
        (
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# SPDX-License-Identifier: MIT\nx = 1\n",
            "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = 1\n",
        ),
        ("# what this file is for\nx = 1\n", "# what this file is for\nx = 1\n"),
        ("int x; // Copyright 2024\n", "int x; // Copyright 2024\n"),
        ("/* Copyright 2024, and no end", "/* Copyright 2024, and no end"),
        ("<!-- Licence: CC BY -->\n<p>", "<p>"),
        ("#!/bin/sh", "#!/bin/sh"),
        ("# Copyright\n" * 3000, "# Copyright\n" * 3000),
        ("# Copyright 2024\n", ""),
        ("", ""),
    ],
)
def test_a_first_comment_about_a_licence_goes(text: str, after: object) -> None:
    assert answer(text) == after
