"""Readable text from XML."""

from gristmill.readers.files.xml_text import BlockText
from gristmill.readers.xml_events import parse_xml_document

TEXT = BlockText(blocks=("p", "sec", "tr"), skipped=("xref",), lines=("br",), cells=("td",), kept=("code",))


def text(xml: str) -> str:
    return TEXT(parse_xml_document([f"<r>{xml}</r>".encode()], where="x.xml"))


def test_blocks_are_paragraphs_and_the_rest_flows() -> None:
    assert text("a <sec>b<p> c\n  <i>d</i> <b> e</b></p>f</sec>g") == "a\n\nb\n\nc d e\n\nf\n\ng"
    assert text("<p>a<xref>1</xref>.</p><p> </p><p>b<br/> c</p>") == "a.\n\nb\n c"
    assert text("<tr><td>1</td><td>2</td></tr><code>  x\n\n   y </code>") == "1\t2\n\n  x\n\n   y"
    assert text("") == ""
