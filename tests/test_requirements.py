"""Both files in requirements/ pin every package in setup.cfg that the tests need."""

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"^[\w-]+", re.MULTILINE)


@pytest.mark.parametrize("name", ["lock.txt", "lowest.txt"])
def test_every_required_package_is_pinned(name):
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    required = (settings["options"]["install_requires"]
             + settings["options.extras_require"]["test"])
    has = NAME.findall((ROOT / "requirements" / name).read_text(encoding="utf-8"))
    assert set(NAME.findall(required)) - set(has) == set(), "see requirements/README.md"
