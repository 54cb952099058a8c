"""Source code: two repositories as archives."""

from samplefolder import sample

from gristmill.readers.code.code_files import CodeFiles
from gristmill.recipes.source import Everything, Source

CODE = Source(
    name="code",
    description="TheAlgorithms in Python and in Rust",
    licence="MIT",
    convert=CodeFiles(source="code", languages=("Python", "Rust")),
    select=r"\.tar\.gz$",
    partition=Everything(),
    snapshots="replace",
    raw=sample("stack"),
)
