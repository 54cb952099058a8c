"""LaTeX without comments, preamble and bibliography."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cpu_time import cpu_seconds
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.papers.latex import LatexLines, latex_document_body, remove_bibliography, remove_latex_comments
from gristmill.recipes.raw_object import RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
PAPER = r"""\documentclass{article} % a class
\begin{document}
% a note
50\% of it% joined
 here \\% a break
\begin{comment}
hidden
\end{comment}
\begin{verbatim}
% kept
\end{verbatim}
\bibliography{mills}
\end{document}
after
"""


def read(tmp_path: Path, *texts: str, **options: Any) -> list[Any]:
    data = b"".join(json.dumps({"id": str(n), "text": text}).encode() + b"\n" for n, text in enumerate(texts))
    return list(LatexLines(source="talks", **options)(talk_file(tmp_path, "a.jsonl", data)))


def test_latex_is_kept_as_it_is_unless_asked_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path, PAPER)[0].text == PAPER
    (made,) = read(tmp_path, PAPER, comments=False, preamble=False, bibliography=False)
    assert made.text == "50\\% of it%\n here \\\\%\n\\begin{verbatim}\n% kept\n\\end{verbatim}\n"


def test_each_part_is_left_out_by_itself() -> None:
    assert remove_latex_comments("a\\\\\\% b % c") == "a\\\\\\% b %"
    assert (
        remove_latex_comments("\\begin{lstlisting}\n% a\n\\end{lstlisting}% b")
        == "\\begin{lstlisting}\n% a\n\\end{lstlisting}%"
    )
    assert latex_document_body("no document") == "no document"
    assert latex_document_body("\\begin{document}\ntruncated") == "truncated"
    assert remove_bibliography("a\n\\begin{thebibliography}{9} truncated") == "a\n"


def test_no_text_makes_it_slow() -> None:
    def read_all() -> None:
        for piece in (
            "\\begin{verbatim}",
            "\\begin{comment}",
            "\\\\",
            "%",
            " ",
            "\\begin{thebibliography}",
            "\\bibliography{",
        ):
            remove_bibliography(latex_document_body(remove_latex_comments(piece * 30_000)))

    assert cpu_seconds(read_all) < 2


def test_a_paper_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    bad, good = read(tmp_path, "% only a comment", "text", comments=False)
    assert bad == Refused("empty text", "a.jsonl row 0", b'{"id": "0", "text": "% only a comment"}')
    assert good.text == "text"


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
def test_sample_papers_keep_their_arxiv_ids_and_times() -> None:
    name = "arxiv-redpajama.jsonl.gz"
    size = Path(f"{SAMPLES}/raw/papers/{name}").stat().st_size
    convert = LatexLines(
        source="arxiv", id_template="{meta.arxiv_id}", created_key="meta.timestamp", time_unit="ms",
        rename={"meta.arxiv_id": "arxiv"},
    )  # fmt: skip
    made = list(convert(RawObject(FolderStore(f"{SAMPLES}/raw/papers"), name, name, size)))
    documents = [each for each in made if isinstance(each, Document)]
    assert (len(made), len(documents)) == (11, 11)
    assert documents[3].id == "hep-ex/0408102"
    assert documents[0].created == "2017-12-05T09:17:31Z"
    assert isinstance(documents[3].metadata, dict)
    assert documents[3].metadata["arxiv"] == "hep-ex/0408102"
