"""Write a page from a template, the JavaScript engine, and models encoded without markup."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy_attention.validation.paths import atomic_write

HERE = Path(__file__).parent
# the files of the engine, each after those that it uses
ENGINE = ("arrays", "module", "softmax", "cell", "rnn", "lstm", "gru", "stacked", "bidirectional",
          "attention", "dot", "additive", "location", "fixed", "multi_head", "local", "history",
          "layers", "rnnsearch", "luong", "transformer", "language_model", "vocabulary", "subwords",
          "text", "search", "sampling", "model", "translator", "writer")
# characters that could end a script, or a line of one
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(path: str | Path, models: Sequence[Mapping[str, Any]], title: str,
               static: str = "", script: str = "") -> int:
    """Write a page of these exported models atomically, and return its size in bytes.

    models: dicts from `exported`. static: HTML that is shown without JavaScript. script: the user's
    script, which follows the engine. Raises OSError if the page cannot be written.
    """
    text = page_of(models, title, static, script).encode("utf-8")
    with atomic_write(path) as file:
        file.write(text)
    return len(text)


def page_of(models: Sequence[Mapping[str, Any]], title: str, static: str = "",
            script: str = "") -> str:
    """Return the HTML page as a string. Arguments are as in `write_page`."""
    parts = {
        "title": html.escape(title),
        "style": (HERE / "page.css").read_text("utf-8"),
        "static": static,
        "models": json_for_script({"models": list(models)}),
        # in a separate element, so that an error in it does not stop the engine
        "engine": engine() + (f"\n</script>\n<script>\n{script}" if script else ""),
        "view": "\n".join(path.read_text("utf-8") for path in sorted((HERE / "view").glob("*.js"))),
    }
    template = (HERE / "page.html").read_text("utf-8")
    # in one pass, because inserted text may contain such a mark
    return re.sub(r"<!-- put (\w+) -->|/\* put (\w+) \*/", lambda mark: parts[mark[1] or mark[2]],
                  template)


def engine() -> str:
    """Return the JavaScript of the engine: the text of all its files."""
    return "\n".join((HERE / "engine" / f"{name}.js").read_text("utf-8") for name in ENGINE)


def json_for_script(value: Any) -> str:
    """Encode a value as JSON without <, > and &, so that it cannot end a script or begin markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: ESCAPES[found[0]], text)
