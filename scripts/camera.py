"""A browser that takes pictures of Dagster's pages."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gristmill.environment import CHECKOUT
from scripts.progress import say, stop

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SIZE = 1600, 1000
PATIENCE = 60
"""Seconds within which a page must show each text."""


def chromium() -> str:
    """The browser's program."""
    named = os.environ.get("GRISTMILL_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        stop("no Chromium on this machine: install one, or name it by GRISTMILL_CHROMIUM")
        sys.exit(1)
    return found


@contextmanager
def open_browser() -> Iterator["Browser"]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the test environment

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


class Camera:
    """Takes pictures of the pages of one server.

    Args:
        browser: the browser.
        url: of the server.
        folder: for the pictures, whose names begin with their numbers.
    """

    def __init__(self, browser: "Browser", url: str, folder: Path) -> None:
        self._page: Page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        self._url, self._folder = url, folder

    def take(
        self, name: str, path: str, *texts: str, without: str = "", click: str = "", seconds: int = PATIENCE
    ) -> None:
        """Takes a picture of a page. The script ends if the page does not become what it has to be.

        Args:
            name: of the picture.
            path: of the page.
            texts: what the page must show.
            without: what it must no longer show.
            click: a text that is clicked before the picture is taken.
            seconds: within which the page must show each text.
        """
        self._page.set_default_timeout(seconds * 1000)
        self._do(name, path, "open", lambda: self._page.goto(f"{self._url}{path}"))
        for text in texts:
            self._do(name, path, f"show {text!r}", self._seen(text).wait_for)
        if click:
            self._do(name, path, f"show {click!r}, to be clicked", self._seen(click, exact=True).click)
        if without:
            hidden = self._page.get_by_text(without).first
            self._do(name, path, f"lose {without!r}", lambda: hidden.wait_for(state="hidden"))
        self._page.wait_for_timeout(1_500)
        file = self._shoot(f"{len(list(self._folder.glob('*.png'))) + 1:02}-{name}")
        say(f"{file.relative_to(CHECKOUT)}: {path}")

    def _seen(self, text: str, *, exact: bool = False) -> "Locator":
        return self._page.get_by_text(text, exact=exact).locator("visible=true").first

    def _do(self, name: str, path: str, what: str, act: Callable[[], object]) -> None:
        """Does something with the page. If it takes too long, ends the script with the page and what it lacks."""
        from playwright.sync_api import Error  # noqa: PLC0415 - see above

        try:
            act()
        except Error as error:
            file = self._shoot(f"failed-{name}")
            stop(f"the page {name} ({path}) did not {what} in time; {file} shows it\n{error.message}")

    def _shoot(self, name: str) -> Path:
        file = self._folder / f"{name}.png"
        self._page.screenshot(path=file)
        return file
