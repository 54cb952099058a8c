"""A package of an extra that is not installed is one line with its command, before work begins; the rest works."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.dolma.mixing.jq_program import JqProgram
from gristmill.energon.formats.media_facts import mime_type
from gristmill.engines.kinds import open_engine
from gristmill.errors import RecipeError
from gristmill.extras import EXTRAS, check_installed, extra, needs, why_missing
from gristmill.lake.store.open import open_store
from gristmill.readers.files.html_files import HtmlFiles
from gristmill.readers.files.html_text import html_text
from gristmill.readers.forum.stack_exchange import StackExchangePosts
from gristmill.readers.web.charsets import decode_page
from gristmill.readers.web.extraction import extract_main_text, extractor_version
from gristmill.readers.web.http import HttpResponse, unpack_http_body
from gristmill.readers.web.oscar_split import OscarFromWet
from gristmill.readers.web.pages import WarcPages
from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.models.fasttext import fasttext_tagger
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.models.onnx import onnx_tagger
from gristmill.recipes.sql.worker import ProcessLimits
from gristmill.taggers.languages.cld2 import CLD2
from gristmill.taggers.measures.tlsh import TLSH
from resources.lake import s3_resource

FITS = Model(name="rude-1", training=FastTextTraining(labels="rude", positive="rude"))
BROTLI = HttpResponse(200, {"content-encoding": "br"}, b"\x0b\x02\x80hello\x03")


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Lets a package be as if it were not installed."""
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


USES: list[tuple[str, str, Callable[[], object]]] = [
    ("resiliparse", "web", HtmlFiles(source="pages").check),
    ("resiliparse", "web", StackExchangePosts(source="pages").check),
    ("resiliparse", "web", WarcPages(source="pages").check),
    ("fastwarc", "web", WarcPages(source="pages").check),
    ("resiliparse", "web", lambda: html_text("<p>Rye")),
    ("resiliparse", "web", lambda: extract_main_text("<p>Rye", "resiliparse", {})),
    ("resiliparse", "web", lambda: decode_page(b"\xe9", "")),
    ("fastwarc", "web", lambda: unpack_http_body(BROTLI, 100)),
    ("trafilatura", "trafilatura", WarcPages(source="pages", extractor="trafilatura").check),
    ("mwparserfromhell", "wiki", MediaWikiPages(source="wiki").check),
    ("mwparserfromhell", "wiki", lambda: importlib.import_module("gristmill.readers.wiki.wikitext")),
    (
        "jq",
        "dolma",
        lambda: JqProgram(".id", ProcessLimits(seconds=1.5, memory=1 << 30)),
    ),  # its own limits: no idle process
    ("filetype", "energon", lambda: mime_type(b"\x89PNG")),
    ("fasttext", "models", lambda: check_installed(FITS.needs)),
    ("fasttext", "models", lambda: check_installed(OscarFromWet.needs)),
    ("fasttext", "models", lambda: check_installed(fasttext_tagger("rude-1", "rude-1", ["rude"]).needs)),
    ("onnxruntime", "models", lambda: check_installed(onnx_tagger("rude-1", "rude-1", ["rude"]).needs)),
    ("obstore", "s3", lambda: open_store("s3://bucket/lake")),
    ("boto3", "s3", lambda: open_store("s3://bucket/lake")),
    ("pycld2", "cld2", lambda: check_installed(CLD2.needs)),
    ("tlsh", "tlsh", lambda: check_installed(TLSH.needs)),
    ("distributed", "dask", lambda: open_engine("dask", address="tcp://127.0.0.1:1")),
    ("ray", "ray", lambda: open_engine("ray", address="127.0.0.1:1")),
]


@pytest.mark.parametrize(("package", "name", "use"), USES)
def test_a_missing_package_is_one_line_with_the_command_for_its_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str, use: Callable[[], object]
) -> None:
    hide(monkeypatch, package)
    monkeypatch.delitem(sys.modules, "gristmill.readers.wiki.wikitext", raising=False)
    extractor_version.cache_clear()
    with pytest.raises(RecipeError) as caught:
        use()
    line = f"it needs the package {package}, which is not installed: `pip install 'gristmill[{name}]'`"
    assert str(caught.value).endswith(line)
    assert "\n" not in str(caught.value)


def test_the_ui_asks_for_its_extra_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hide(monkeypatch, "dagster_webserver")
    assert main(["ui", str(tmp_path)]) == 2
    line = "it needs the package dagster_webserver, which is not installed: `pip install 'gristmill[ui]'`"
    assert capsys.readouterr().err == f"gristmill ui: {line}\n"


def test_the_connection_of_a_bucket_in_dagster_asks_for_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from gristmill.environment import read_environment

    hide(monkeypatch, "dagster_aws")
    monkeypatch.setenv("GRISTMILL_LAKE", "s3://bucket/lake")
    with pytest.raises(RecipeError, match=r"`pip install 'gristmill\[s3\]'`"):
        s3_resource(read_environment())


def test_an_import_that_fails_in_another_way_stays_what_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), extra():
        importlib.import_module("no_such_module")
    with pytest.raises(ImportError, match="cannot import name"), extra():
        from json import no_such_name  # type: ignore[attr-defined]  # noqa: F401 - it fails


def test_what_is_installed_lacks_nothing() -> None:
    assert why_missing(needs(*EXTRAS)) == ""
