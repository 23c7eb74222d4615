"""What is accepted in silence and is right, and why.

A key is a regular expression that the whole finding, "kind: what → text", holds somewhere.
"""

import re

ACCEPTED: dict[str, str] = {
}


def reason(line):
    """Why this silence is right; None where nothing says so."""
    for pattern, why in ACCEPTED.items():
        if re.search(pattern, line):
            return why
    return None
