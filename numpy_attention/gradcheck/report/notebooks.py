"""Labels of notebook cells, which IPython compiles under invented file names."""

import re
import sys
from pathlib import Path

# "<ipython-input-5-1c0ffee>", or "/tmp/ipython-input-5-1c0ffee.py" in a hosted notebook
NUMBERED = re.compile(r"<?ipython-input-(\d+)-\w+(?:>|\.py)")


def file_label(file: str) -> str:
    """Return a file's name, such as "mine.py", or the label of a cell: "cell In[5]" or "a cell"."""
    path = Path(file)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = shell and shell.compile.format_code_name(file)
    if named:
        return f"cell {named[1]}"
    numbered = NUMBERED.fullmatch(path.name)
    if numbered:
        return f"cell In[{numbered[1]}]"
    if path.parent.name.startswith("ipykernel_") or path.name.startswith("ipython-input-"):
        return "a cell"
    return path.name
