"""Tabs of a real browser, headless; nothing is downloaded for it."""

import pytest


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
