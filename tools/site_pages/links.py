"""From a file of the checkout to its page on the site.

A text keeps the links that it has in the checkout. On the site a link to another text goes to that
text's page, and one to any other file or folder to a page that shows its source.
"""

import posixpath
import re
from pathlib import Path

from site_pages import sources

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^([ >]*(?:```|~~~).*?^[ >]*(?:```|~~~)[^\n]*$)", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(`+[^`]*`+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PICTURES = (".png", ".svg", ".jpg")
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")


class DeadLink(Exception):
    """A link to what is not there."""


class Links:
    """Where each text has its page, and which files have been asked for."""

    def __init__(self, pages):
        """pages: {path in the checkout: path of the page's source on the site}, an anchor too."""
        self.pages = pages
        self.pictures = set()   # paths in the checkout that have the same path on the site
        self.asked = set()      # paths in the checkout whose sources are to be shown

    def changed(self, text, place, page):
        """A text of the checkout with the links that it has on the site.

        place: its path in the checkout; page: the path of its page's source on the site.
        DeadLink: the target of a link does not exist.
        """
        parts = FENCED.split(text)
        parts[::2] = [self._in_prose(part, place, page) for part in parts[::2]]
        return "".join(parts)

    def _in_prose(self, text, place, page):
        parts = re.split(r"(?m)^( {4,}\S.*)$", text)                # indented: equations
        for number in range(0, len(parts), 2):
            pieces = INLINE.split(parts[number])
            # a link's own text may hold code, its target never does
            parts[number] = "".join(
                piece if piece.startswith("`") else LINK.sub(
                    lambda link: f"]({self.target(link[1], place, page)})", piece)
                for piece in pieces)
        return "".join(parts)

    def target(self, link, place, page):
        """What a link of the text at `place` is on `page`."""
        if link.startswith("#") or ELSEWHERE.match(link):
            return link
        path, hash_, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
        whole = path + hash_ + anchor
        if whole in self.pages:
            return relative(self.pages[whole], page)
        if path in self.pages:
            # the front page is another text than README, and has none of its sections
            return relative(self.pages[path], page) + (
                "" if path == "README.md" else hash_ + anchor)
        if path.startswith("..") or not (ROOT / path).exists():
            raise DeadLink(f"{place} links to {link}, which does not exist")
        if path.endswith(PICTURES):
            self.pictures.add(path)
            return relative(path, page)
        self.asked.add(path)
        return "site:" + sources.page_of(path)


def relative(target, page):
    """The path from one page's source to another's."""
    path, hash_, anchor = target.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + hash_ + anchor
