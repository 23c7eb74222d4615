"""Tabs of a real browser, headless; nothing is downloaded for it."""

import numpy as np
import pytest
from page_models import SPACES, WORDS, translator_of
from page_tab import EXAMPLES

from numpy_attention.page.export import exported
from numpy_attention.page.write import write_page


@pytest.fixture
def tab(browser):
    """A tab of the browser; a script's error, or a wish for anything beyond the file, fails."""
    tab = browser.new_page()
    wrong = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    tab.on("request", lambda wish: (wish.url.startswith(("file:", "data:", "blob:", "about:"))
                                    or wrong.append(f"asks for {wish.url}")))
    yield tab
    tab.close()
    assert not wrong, wrong


@pytest.fixture
def seeded():
    """Random numbers with which the view's translators write several words."""
    return np.random.default_rng(43)


@pytest.fixture
def open_page(tab, tmp_path):
    """A function that opens the page of some trained models, at a fragment."""
    def opened(*trained, fragment="", static="", script="", **how):
        how = {"examples": EXAMPLES if trained[0].KIND == "translator" else [WORDS[:4]]} | how
        models = [exported(one, f"model {n}", SPACES, script=script, **how)
                  for n, one in enumerate(trained, 1)]
        path = tmp_path / "page.html"
        write_page(path, models, "A page", static, script)
        tab.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        tab.goto(f"file://{path}{fragment}")
        return path
    return opened


@pytest.fixture
def additive(seeded):
    """A translator that changes its mind easily."""
    trained = translator_of("rnnsearch", {"reset": "before", "update": "new"}, seeded)
    for _, array in trained.model.named_parameters():
        array *= 3
    return trained
