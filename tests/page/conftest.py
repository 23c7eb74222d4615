"""A real browser, headless, one for all tests of the page; nothing is downloaded for it."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# nothing of its own may want the network, or a display
ARGUMENTS = ("--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
             "--disable-background-networking --disable-component-update").split()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api",
                                     reason="the page's tests need playwright, of the extra test")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: the page's tests run its scripts in it")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    """A tab of the browser; a script's error, or a wish for anything beyond the file, fails."""
    tab = browser.new_page()
    wrong = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    tab.on("request", lambda wish: (wish.url.startswith(("file:", "data:", "blob:", "about:"))
                                    or wrong.append(f"asks for {wish.url}")))
    yield tab
    tab.close()
    assert not wrong, wrong
