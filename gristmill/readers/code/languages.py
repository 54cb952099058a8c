"""The programming language of a file, by its name, its first line, or, where an ending has two, by its text."""

import re

_ENDINGS = {
    "Ada": "adb ads", "Assembly": "asm s", "AWK": "awk", "Batchfile": "bat cmd", "BibTeX": "bib", "C": "c h",
    "C#": "cs csx", "C++": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp", "Clojure": "clj cljs cljc edn", "CMake": "cmake",
    "COBOL": "cob cbl", "CoffeeScript": "coffee", "Common Lisp": "lisp lsp cl", "Crystal": "cr", "CSS": "css",
    "Cuda": "cu cuh", "Cython": "pyx pxd pxi", "D": "d di", "Dart": "dart", "Diff": "diff patch", "Elixir": "ex exs",
    "Elm": "elm", "Emacs Lisp": "el", "Erlang": "erl hrl", "F#": "fs fsi fsx", "Fortran": "f f77 f90 f95 f03 f08 for",
    "GLSL": "glsl vert frag", "Go": "go", "GraphQL": "graphql gql", "Groovy": "groovy gradle", "Haskell": "hs lhs",
    "HCL": "tf hcl tfvars", "HTML": "html htm xhtml", "INI": "ini cfg", "Java": "java", "JavaScript": "js mjs cjs jsx",
    "JSON": "json", "Julia": "jl", "Jupyter Notebook": "ipynb", "Kotlin": "kt kts", "Lean": "lean", "Less": "less",
    "Lua": "lua", "Makefile": "mk mak", "Markdown": "md markdown mdx", "MATLAB": "m", "Nim": "nim nims", "Nix": "nix",
    "OCaml": "ml mli", "Objective-C": "mm", "Pascal": "pas pp dpr", "Perl": "pl pm t", "PHP": "php phtml",
    "PowerShell": "ps1 psm1 psd1", "Prolog": "pro", "Protocol Buffer": "proto", "Python": "py pyi pyw", "R": "r rmd",
    "Racket": "rkt", "reStructuredText": "rst", "Ruby": "rb rake gemspec", "Rust": "rs", "Sass": "sass",
    "Scala": "scala sc sbt", "Scheme": "scm ss", "SCSS": "scss", "Shell": "sh bash zsh ksh", "Solidity": "sol",
    "SQL": "sql", "Standard ML": "sml sig fun", "Svelte": "svelte", "Swift": "swift", "SystemVerilog": "sv svh",
    "Tcl": "tcl", "TeX": "tex sty cls ltx", "Text": "txt", "TOML": "toml", "TypeScript": "ts tsx mts cts",
    "Verilog": "v vh", "VHDL": "vhd vhdl", "Vim Script": "vim", "Visual Basic": "vb bas", "Vue": "vue",
    "WebAssembly": "wat wast", "XML": "xml xsd xsl xslt svg", "YAML": "yml yaml", "Zig": "zig",
}  # fmt: skip
_LANGUAGE = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}

LANGUAGES = frozenset(_ENDINGS) | {"Dockerfile", "Coq"}
"""All languages that a file may be found to have."""

_NAMES = {
    "BUILD": "Python", "BUILD.bazel": "Python", "WORKSPACE": "Python", "SConstruct": "Python", "wscript": "Python",
    "CMakeLists.txt": "CMake", "Dockerfile": "Dockerfile", "Containerfile": "Dockerfile", "GNUmakefile": "Makefile",
    "Makefile": "Makefile", "makefile": "Makefile", "Gemfile": "Ruby", "Rakefile": "Ruby", "Vagrantfile": "Ruby",
    "Jenkinsfile": "Groovy", "meson.build": "Python", "Cargo.lock": "TOML", "poetry.lock": "TOML",
    ".bashrc": "Shell", ".profile": "Shell", ".zshrc": "Shell", ".vimrc": "Vim Script", ".emacs": "Emacs Lisp",
}  # fmt: skip
_PROGRAMS = {
    "awk": "AWK", "gawk": "AWK", "bash": "Shell", "dash": "Shell", "ksh": "Shell", "sh": "Shell", "zsh": "Shell",
    "escript": "Erlang", "groovy": "Groovy", "julia": "Julia", "lua": "Lua", "make": "Makefile", "node": "JavaScript",
    "nodejs": "JavaScript", "deno": "TypeScript", "perl": "Perl", "php": "PHP", "pwsh": "PowerShell",
    "python": "Python", "pypy": "Python",
    "racket": "Racket", "Rscript": "R", "ruby": "Ruby", "runhaskell": "Haskell", "tclsh": "Tcl",
    "wish": "Tcl",
}  # fmt: skip
_SHEBANG = re.compile(r"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+)*(?:\S+=\S*[ \t]+)*(?:\S*/)?)?([A-Za-z]+)")
_BY_TEXT = {
    "h": (
        "C++",
        re.compile(
            r"^[ \t]*(?:class\s+\w+|namespace\b|template\s*<|(?:public|private|protected):|using\s)", re.MULTILINE
        ),
    ),
    "m": (
        "Objective-C",
        re.compile(r"^[ \t]*(?:@(?:interface|implementation|protocol|import)\b|#import\b)", re.MULTILINE),
    ),
    "pl": ("Prolog", re.compile(r"^[ \t]*(?::-|[a-z]\w*\([^)]*\)\s*:-)", re.MULTILINE)),
    "ts": ("XML", re.compile(r"\s*<\?xml\b|\s*<!DOCTYPE TS\b")),
    "v": ("Coq", re.compile(r"^[ \t]*(?:Require\s+(?:Import|Export)|Theorem|Lemma|Definition|Proof)\b", re.MULTILINE)),
    "d": ("Makefile", re.compile(r"[^\n]*\.o\s*:")),
}
_LOOK = 64 << 10
_FIRST_LINE = 200


def programming_language(path: str, text: str) -> str:
    r"""The programming language of a file; empty if it is not known.

    The names are those of GitHub's Linguist. The file's name decides; without a known ending, the program in its first
    line (`#!`). Six endings that two languages share are told apart by words in the text.

    Args:
        path: path of the file.
        text: its text.

    >>> files = [("src/Makefile", ""), ("run", "#!/usr/bin/env -S python3 -u\n"), ("a.h", "int f();"), ("b", "int x;")]
    >>> [programming_language(path, text) for path, text in files]
    ['Makefile', 'Python', 'C', '']
    """
    name = path.rpartition("/")[2]
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("Dockerfile."):
        return "Dockerfile"
    stem, _, ending = name.rpartition(".")
    ending = ending.lower() if stem else ""
    if ending in _BY_TEXT:
        other, words = _BY_TEXT[ending]
        found = words.match(text[:_LOOK]) if other in {"XML", "Makefile"} else words.search(text[:_LOOK])
        if found:
            return other
    if ending in _LANGUAGE:
        return _LANGUAGE[ending]
    shebang = _SHEBANG.match(text[:_FIRST_LINE])
    return _PROGRAMS.get(shebang[1], "") if shebang else ""
