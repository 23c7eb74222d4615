"""The page as a file: whole or not at all, and nothing in it becomes markup."""

import json
import re

import pytest
from page_models import SPACES

from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.page.export import exported
from numpy_attention.page.write import ENGINE, HERE, json_for_script, page_of, write_page
from numpy_attention.plotting.html import token_html

UNSAFE = ["<script>", "</script>", "<!--", "\"'", "a\u2028b\u2029c", "\u202eevil", "&lt;",
           "__proto__", "constructor", "<!-- put engine -->", "/* put view */", "${x}", "\ud800",
           "\\u003c"]


def unsafe(rng):
    pair = Pair(tuple(UNSAFE), tuple(UNSAFE))
    translator = Translator.create([pair], "luong", {"hidden": 6, "embedding": 4, "layers": 1},
                                   TranslatorTraining())
    return exported(translator, "</title><script>", SPACES, examples=[pair])


def test_every_file_of_the_engine_is_in_the_page():
    assert {f"{name}.js" for name in ENGINE} == {path.name for path in (HERE / "engine").iterdir()}
    assert len(set(ENGINE)) == len(ENGINE)


def test_no_script_of_the_page_holds_what_ends_one():
    for path in [*(HERE / "engine").glob("*.js"), *(HERE / "view").glob("*.js")]:
        assert not re.search(r"</script|<!--", path.read_text("utf-8"), re.IGNORECASE), path


def test_json_in_a_page_is_plain_letters(rng):
    text = json_for_script(unsafe(rng))
    assert text.isascii() and not re.search("[<>&\u2028\0]", text)
    assert json.loads(text)["vocabularies"]["source"] == sorted(UNSAFE)


def test_what_is_put_in_is_not_a_template(rng):
    page = page_of([unsafe(rng)], "</title><script>", token_html("<!-- put engine -->"))
    assert page.count("class LuongTranslator") == 1
    assert page.count("<script") == page.count("</script>") == 4
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in page


def test_a_page_asks_for_nothing_from_outside(rng):
    page = page_of([unsafe(rng)], "a page")
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)


def test_a_file_is_written_whole(rng, tmp_path):
    path = tmp_path / "new" / "page.html"
    size = write_page(path, [unsafe(rng)], "a page")
    assert path.stat().st_size == size
    assert [one.name for one in path.parent.iterdir()] == ["page.html"]


def test_what_was_there_stays_where_a_page_cannot_be_made(rng, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(ValueError):
        write_page(path, [{"number": float("nan")}], "a page")
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 1


def test_hostile_words_are_words_in_the_engine(tab, rng, tmp_path):
    path = tmp_path / "page.html"
    write_page(path, [unsafe(rng)], "a page")
    tab.goto(path.as_uri())
    assert tab.title() == tab.locator("h1").inner_text()
    words = [word for word in UNSAFE if word != "\ud800"]
    found = tab.evaluate("""(words) => {
      const { models: [data] } = JSON.parse(document.getElementById("models").textContent);
      const model = load(data);
      const memory = model.read([...words, "toString", "\\0"]);
      model.greedy(memory);
      return [memory.unknown, model.sourceVocabulary.encode(words)];
    }""", words)
    assert found[0] == [False] * len(words) + [True, True, False]
    assert found[1] == [4 + sorted(UNSAFE).index(word) for word in words]
