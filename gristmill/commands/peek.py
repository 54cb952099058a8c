"""`peek FILE-or-FOLDER`: looks at raw data, guesses its format, and prints the draft of a recipe for it.

It goes by the content first: what the bytes are packed with, which encoding they have, and how the first records look.
It shows three documents as the draft reads them. Nothing is written: paste the draft into a file of your `sources/`,
and check it. Exit code 1 if no reader is known for any file.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path

from gristmill.commands._shared.terminal import print_line
from gristmill.errors import RecipeError, shorten
from gristmill.peeking.look import (
    LONGEST_ROW,
    Draft,
    FirstResults,
    Guess,
    draft_sources,
    files_of_draft,
    files_to_open,
    guess_format,
    irregular_files,
    read_first_documents,
    visible_files,
)
from gristmill.recipes.raw_object import TOO_LONG, Limits
from gristmill.reports.sizes import size_in_words

HELP = "look at raw data: guess the format, show three documents, print the draft of a recipe"

_WIDTH = 100
_TEXT = 160


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("path", help="a file or a folder with raw data")


def run(arguments: Namespace) -> int:
    """Shows what is known of the file, or of the folder's files. Returns the exit code.

    Raises:
        RecipeError: the path is an address of a bucket, or nothing is there.
        DataError: a file cannot be read, or the path is neither a regular file nor a folder.
    """
    path = Path(arguments.path).expanduser()
    if "://" in str(arguments.path):
        raise RecipeError(f"{arguments.path}: peek reads files of this machine; copy one object, and look at it")
    if not path.exists():
        raise RecipeError(f"{path}: nothing is there; give a file or a folder")
    files = visible_files(path) if path.is_dir() else [path]
    guesses = [guess_format(each) for each in files_to_open(files)]
    for each in irregular_files(path) if path.is_dir() else ():
        print_line(f"{each}: neither a regular file nor a folder; passed over")
    if not guesses:
        raise RecipeError(f"{path}: the folder has no file")
    if path.is_dir():
        print_line(f"{path}: {len(files):,} files, {len(guesses):,} of them looked at")
        _print_formats(guesses)
        if len(guesses) < len(files):
            left = len(files) - len(guesses)
            print_line(f"  {left:,} files were not looked at")
    made = draft_sources(path, guesses, files)
    _print_unread_files(guesses, made, files)
    for example in _example_files(guesses, made):
        _print_file(example)
    for draft in made:
        _print_documents(read_first_documents(draft), several=len(made) > 1)
        _print_draft(draft)
    return 0 if made else 1


def _print_unread_files(guesses: list[Guess], made: list[Draft], files: list[Path]) -> None:
    """Tells of files that were not looked at, and that no draft reads."""
    known = {*(each.head.path for each in guesses), *(each for draft in made for each in files_of_draft(draft, files))}
    unread = [each for each in files if each not in known] if made else []
    if unread:
        names = f"{unread[0].name}{' and others' if len(unread) > 1 else ''}"
        print_line(f"  {len(unread):,} of them no draft reads ({names}): widen `select`")


def _print_formats(guesses: list[Guess]) -> None:
    for name, count in Counter(each.format.name for each in guesses).most_common():
        print_line(f"  {count:>6,}  {name}")


def _example_files(guesses: list[Guess], made: list[Draft]) -> list[Guess]:
    """One file of each draft, and one of each format without a draft."""
    others = {each.format.name: each for each in reversed(guesses) if not each.format.module}
    return [*(draft.guesses[0] for draft in made), *reversed(others.values())]


def _print_file(each: Guess) -> None:
    head = each.head
    size = head.path.stat().st_size
    print_line()
    print_line(f"{head.path} ({size_in_words(size)})")
    print_line(f"  format:    {each.format.name}")
    print_line(f"  packing:   {head.packing or 'none'}{' (' + head.archive[1:] + ')' if head.archive else ''}")
    if head.text_encoding and not head.archive and each.format.name != "parquet":
        print_line(f"  encoding:  {head.text_encoding}")
    for number, field in enumerate(each.facts.fields):
        print_line(f"  {'' if number else 'has:':<10} {shorten(field, _WIDTH)}")
    for note in each.facts.notes:
        print_line(f"  note:      {note}")
    if head.name != head.path.name and each.format.module:
        print_line(f"  note:      readers go by the name's ending, which misleads here: rename it to {head.name}")


def _print_documents(seen: FirstResults, *, several: bool) -> None:
    for number, (document, file) in enumerate(zip(seen.documents, seen.files, strict=True), start=1):
        print_line()
        print_line(f"document {number}: id {shorten(document.id, _WIDTH)}, {len(document.text):,} characters")
        if several:
            print_line(f"  file:     {file}")
        metadata = document.metadata if isinstance(document.metadata, dict) else {}
        if metadata:
            print_line(f"  metadata: {shorten(', '.join(metadata), _WIDTH)}")
        print_line(f"  | {shorten(' '.join(document.text[: 2 * _TEXT].split()), _TEXT)}")
    for words, counted in (("refused", seen.refused), ("left out", seen.left_out)):
        for reason, rows in counted.most_common():
            print_line(f"{words} until then: {rows:,} {reason}")
    if seen.refused[TOO_LONG]:
        print_line(f"peek reads rows of at most {LONGEST_ROW:,} bytes; a run takes {Limits().row:,}")
    if seen.error:
        print_line(f"the draft does not read it: {seen.error}")
    elif not seen.documents:
        print_line("the draft makes no document of it")


def _print_draft(draft: Draft) -> None:
    print_line()
    for note in draft.notes:
        print_line(f"note: {note}")
    print_line("a draft to paste into a file of sources/, and to check:")
    print_line()
    for line in draft.text.split("\n"):
        print_line(line)
