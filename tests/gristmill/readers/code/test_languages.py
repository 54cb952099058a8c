"""The language of a file by its name, its first line, or its text."""

import pytest
from cpu_time import cpu_seconds

from gristmill.readers.code.languages import programming_language


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("src/a.RS", "", "Rust"),
        ("a.tar.py", "", "Python"),
        (".py", "", ""),
        ("Dockerfile.dev", "", "Dockerfile"),
        ("CMakeLists.txt", "", "CMake"),
        ("notes.txt", "", "Text"),
        ("run", "#!/bin/sh -e\n", "Shell"),
        ("run", "#!/usr/bin/env FOO=1 python3.11\n", "Python"),
        ("run", "#!/usr/local/bin/node\n", "JavaScript"),
        ("run", "#!/opt/unknown\n", ""),
        ("run", "python\n", ""),
        ("a.h", "struct A;\n", "C"),
        ("a.h", "#pragma once\nnamespace a {\n", "C++"),
        ("a.m", "x = 1;\n", "MATLAB"),
        ("a.m", "#import <A.h>\n", "Objective-C"),
        ("a.pl", "use strict;\n", "Perl"),
        ("a.pl", "likes(ann, X) :- book(X).\n", "Prolog"),
        ("a.ts", "let a = 1;\n", "TypeScript"),
        ("a.ts", '<?xml version="1.0"?>\n', "XML"),
        ("a.v", "module a;\n", "Verilog"),
        ("a.v", "Require Import Arith.\n", "Coq"),
    ],
)
def test_a_language_is_found_by_name_first_line_or_text(path: str, text: str, language: str) -> None:
    assert programming_language(path, text) == language


def test_no_text_makes_the_search_slow() -> None:
    def search() -> None:
        for text in ("\n" * 200_000, " " * 200_000, "#!" + "=" * 200_000, "#!" + "/" * 200_000, "a(" * 100_000):
            for path in ("a.h", "a.m", "a.pl", "a.ts", "a.v", "a.d", "run"):
                programming_language(path, text)

    assert cpu_seconds(search) < 1
