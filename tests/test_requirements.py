"""The two sets of versions in requirements/ have all that setup.cfg asks for the tests."""

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"^[\w-]+", re.MULTILINE)


@pytest.mark.parametrize("name", ["lock.txt", "lowest.txt"])
def test_every_package_that_is_asked_for_has_a_version(name):
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    asked = (settings["options"]["install_requires"]
             + settings["options.extras_require"]["test"])
    has = NAME.findall((ROOT / "requirements" / name).read_text(encoding="utf-8"))
    assert set(NAME.findall(asked)) - set(has) == set(), "see requirements/README.md"
