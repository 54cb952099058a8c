"""Papers in JATS become documents."""

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.papers.jats import JatsArticles
from gristmill.recipes.raw_object import LeftOut, Limits, RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
DOCTYPE = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "JATS-archivearticle1.dtd">\n'
PAPER = """<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article" xml:lang="en"><front>
<journal-meta><journal-title-group><journal-title>Mills</journal-title></journal-title-group>
<issn>1045-2249</issn></journal-meta>
<article-meta><article-id pub-id-type="pmid">30846892</article-id><article-id pub-id-type="pmc">6398430</article-id>
<article-id pub-id-type="doi">10.1093/x/y</article-id>
<title-group><article-title>On <italic>mills</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author">
<name><surname>B&auml;cker</surname><given-names>Ann M</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>X</surname></name></contrib>
<contrib><collab>Mill Group</collab></contrib></contrib-group>
<pub-date pub-type="ppub"><year>2019</year></pub-date>
<pub-date pub-type="epub"><day>8</day><month>12</month><year>2018</year></pub-date>
<permissions>
<license xlink:href="http://creativecommons.org/licenses/by/4.0/"><license-p>Open</license-p></license></permissions>
<abstract abstract-type="teaser"><p>Teaser</p></abstract><abstract><title>Abstract</title><p>We grind.</p></abstract>
<kwd-group><kwd>mill</kwd></kwd-group></article-meta></front>
<body><sec><label>1</label><title>Results</title><p>See <xref rid="b1">Ann 2002</xref>: <inline-formula><alternatives>
<tex-math>\\documentclass{minimal}\\begin{document}$x_1$\\end{document}</tex-math>
<mml:math xmlns:mml="m"><mml:mi>x</mml:mi></mml:math>
</alternatives></inline-formula>.</p><fig><label>Fig 1</label><caption><p>A wheel</p></caption></fig>
<table-wrap><caption><p>Sizes</p></caption><table><tr><td>1</td><td>2</td></tr></table></table-wrap></sec></body>
<back><ack><p>Thanks</p></ack>
<ref-list><ref><mixed-citation>Ann 2002</mixed-citation></ref></ref-list></back></article>"""
BEGIN = "On mills\n\nAbstract\n\nWe grind.\n\nResults\n\nSee Ann 2002: $x_1$."


def read(tmp_path: Path, text: str, **options: Any) -> list[Any]:
    return list(JatsArticles(source="talks", **options)(talk_file(tmp_path, "a.nxml", text.encode())))


def test_an_article_has_its_text_and_all_its_ids(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.nxml", (DOCTYPE + PAPER).encode())
    (made,) = JatsArticles(source="talks")(raw)
    assert raw.take_raw_span() == RawSpan(len(DOCTYPE), len(DOCTYPE + PAPER))
    assert made == Document(
        id="PMC6398430",
        text=f"{BEGIN}\n\nA wheel\n\nSizes\n",
        source="talks",
        created="2018-12-08T00:00:00Z",
        metadata={
            "kind": "paper",
            "pubmed": "30846892",
            "pmc": "6398430",
            "doi": "10.1093/x/y",
            "title": "On mills",
            "authors": ["Ann M Bäcker", "Mill Group"],
            "journal": "Mills",
            "issn": ["1045-2249"],
            "keywords": ["mill"],
            "article_type": "research-article",
            "language": "en",
            "license": "CC-BY-4.0",
            "license_url": "http://creativecommons.org/licenses/by/4.0/",
        },
    )


def test_figures_tables_and_the_back_are_choices(tmp_path: Path) -> None:
    assert read(tmp_path, DOCTYPE + PAPER, floats="none")[0].text == f"{BEGIN}\n"
    everything = read(tmp_path, DOCTYPE + PAPER, floats="all", back=True)[0].text
    assert everything == f"{BEGIN}\n\nA wheel\n\nSizes\n\n1\t2\n\nThanks\n"


def test_ids_fall_back_to_the_doi_and_other_ids(tmp_path: Path) -> None:
    paper = PAPER.replace("&auml;", "ä").replace('"pmc"', '"pmcid"').replace("6398430", "PMC6398430")
    assert [each.id for each in read(tmp_path, paper)] == ["PMC6398430"]
    assert [each.id for each in read(tmp_path, paper.replace('"pmcid"', '"x"'))] == ["10.1093/x/y"]
    assert [each.id for each in read(tmp_path, paper.replace('"pmcid"', '"x"').replace('"doi"', '"y"'))] == ["30846892"]


def test_a_set_of_articles_gives_each_and_refuses_a_bad_one(tmp_path: Path) -> None:
    paper = PAPER.replace("&auml;", "ä")
    without = "<article><front><article-meta/></front></article>"
    made = read(tmp_path, f"<set>{paper}{without}<article/>{paper.replace('6398430', '7')}</set>")
    assert [each.id if isinstance(each, Document) else each.reason for each in made] == [
        "PMC6398430", "no id of the article", "no metadata of the article", "PMC7",
    ]  # fmt: skip
    assert made[1] == Refused(
        "no id of the article", f"a.nxml line {PAPER.count(chr(10)) + 1} (no element <article-id>)", without.encode()
    )


def test_subtitles_are_text_and_translations_are_text_or_counted(tmp_path: Path) -> None:
    paper = PAPER.replace("&auml;", "ä").replace(
        "</title-group>",
        '<subtitle>A study</subtitle><trans-title-group xml:lang="de"><trans-title>Mühlen</trans-title>'
        "</trans-title-group></title-group>",
    )
    paper = paper.replace("<kwd-group>", '<trans-abstract xml:lang="de"><p>Wir mahlen.</p></trans-abstract><kwd-group>')
    raw = talk_file(tmp_path, "a.nxml", paper.encode())
    (made,) = JatsArticles(source="talks")(raw)
    assert isinstance(made, Document)
    assert made.text.startswith("On mills\n\nA study\n\nAbstract\n\nWe grind.\n\nResults")
    assert isinstance(made.metadata, dict)
    assert made.metadata["title"] == "On mills"
    assert made.metadata["subtitle"] == "A study"
    assert made.metadata["translated_titles"] == {"de": "Mühlen"}
    assert raw.counts == {"abstract in other words": 1, "translated abstract": 1}
    (made,) = read(tmp_path, paper, translations=True)
    assert made.text.startswith("On mills\n\nA study\n\nMühlen\n\nAbstract\n\nWe grind.\n\nWir mahlen.\n\nResults")


@pytest.mark.parametrize(
    ("day", "month", "created", "impossible"),
    [
        ("31", "12", "2018-12-31T00:00:00Z", 0),
        ("8", "Dec", "2018-12-08T00:00:00Z", 0),
        ("8", "december", "2018-12-08T00:00:00Z", 0),
        ("8", "Sept.", "2018-09-08T00:00:00Z", 0),
        ("29", "2", None, 1),
        ("31", "Nov", None, 1),
        ("8", "13", None, 1),
        ("0", "1", None, 1),
        ("8", "Brumaire", None, 1),
        ("²", "1", None, 1),
    ],
)
def test_a_date_that_no_calendar_has_is_counted(
    tmp_path: Path, day: str, month: str, created: str | None, impossible: int
) -> None:
    paper = PAPER.replace("&auml;", "ä").replace(
        "<day>8</day><month>12</month>", f"<day>{day}</day><month>{month}</month>"
    )
    raw = talk_file(tmp_path, "a.nxml", paper.encode())
    (made,) = JatsArticles(source="talks")(raw)
    assert isinstance(made, Document)
    assert (made.created or None) == created
    assert raw.counts.get("impossible date", 0) == impossible


def test_an_impossible_date_gives_way_to_the_next_one(tmp_path: Path) -> None:
    paper = PAPER.replace("&auml;", "ä").replace("<day>8</day><month>12</month>", "<day>31</day><month>4</month>")
    paper = paper.replace("<year>2019</year>", "<day>1</day><month>May</month><year>2019</year>")
    assert [each.created for each in read(tmp_path, paper)] == ["2019-05-01T00:00:00Z"]


@pytest.mark.parametrize("group", ["floats-group", "floats-wrap"])
def test_figures_behind_the_article_are_read_as_those_in_it(tmp_path: Path, group: str) -> None:
    floats = (
        "<fig><label>Fig 2</label><caption><p>A stone</p></caption></fig><table-wrap><caption><p>Costs</p></caption>"
    )
    floats = f"<{group}>{floats}<table><tr><td>9</td></tr></table></table-wrap></{group}></article>"
    paper = PAPER.replace("&auml;", "ä").replace("</article>", floats)
    ends = {
        option: read(tmp_path, paper, floats=option)[0].text[len(BEGIN) :] for option in ("none", "captions", "all")
    }
    assert ends["none"] == "\n"
    assert ends["captions"] == "\n\nA wheel\n\nSizes\n\nA stone\n\nCosts\n"
    assert ends["all"] == "\n\nA wheel\n\nSizes\n\n1\t2\n\nA stone\n\nCosts\n\n9\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAPER[:-50].replace("&auml;", "ä"), "malformed xml"),
        (PAPER, "malformed xml"),
        (DOCTYPE + PAPER.replace("&auml;", "&mine;"), "unknown entity in xml"),
        ('<!DOCTYPE article [<!ENTITY a SYSTEM "file:///etc/passwd">]><article>&a;</article>', "xml declares entities"),
        ("<html/>", "no article"),
        ("", "malformed xml"),
    ],
)
def test_a_file_that_is_not_valid_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (bad,) = read(tmp_path, text)
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.where.startswith("a.nxml")) == (reason, True)


def test_articles_in_an_archive_keep_their_path_and_a_large_one_is_refused(tmp_path: Path) -> None:
    paper = (DOCTYPE + PAPER).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in {
            "x/a.nxml": paper,
            "x/a.pdf": b"%PDF",
            "x/b.nxml": b"<article>" + b"<p>x</p>" * 9999,
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    raw = talk_file(tmp_path, "oa.tar.gz", buffer.getvalue())
    raw.limits = Limits(row=50_000)
    made, bad, others = JatsArticles(source="talks")(raw)
    assert isinstance(made, Document)
    assert isinstance(made.metadata, dict)
    assert made.metadata["path"] == "x/a.nxml"
    assert others == LeftOut("not among the wanted members")
    assert isinstance(bad, Refused)
    assert (bad.reason, bad.where) == ("entry too large", "oa.tar.gz entry x/b.nxml (80001 bytes)")


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
@pytest.mark.parametrize(("name", "least"), [("PMC7417471", 55_000), ("PMC6398430", 44_000)])
def test_sample_papers_are_read(name: str, least: int) -> None:
    size = Path(f"{SAMPLES}/raw/papers/{name}.nxml.gz").stat().st_size
    raw = RawObject(FolderStore(f"{SAMPLES}/raw/papers"), f"{name}.nxml.gz", f"{name}.nxml.gz", size)
    (made,) = JatsArticles(source="papers")(raw)
    assert isinstance(made, Document)
    assert (made.id, len(made.text) > least) == (name, True)


def test_articles_inside_an_article_are_counted(tmp_path: Path) -> None:
    inner = "<sub-article><body><p>Review</p></body></sub-article><response><body><p>Reply</p></body></response>"
    article, counted = read(tmp_path, DOCTYPE + PAPER.replace("</article>", f"{inner}</article>"))
    assert counted == LeftOut("article inside an article", 2)
    assert not {"Review", "Reply"} & set(article.text.split())
