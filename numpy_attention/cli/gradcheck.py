"""gradcheck: check the gradients of the package, or of a user-defined class."""

from argparse import Namespace
from collections.abc import Sequence

from numpy_attention.gradcheck.cases import CHECKS
from numpy_attention.gradcheck.running import check_in_process, show_checks
from numpy_attention.registry import is_custom_code


def gradcheck(options: Namespace) -> int:
    names = options.names or [""]
    if any(map(is_custom_code, names)):
        if len(names) > 1:
            raise ValueError(f"cannot check {' and '.join(names)} together; check one user-defined "
                             "class, FILE.py:CLASS, at a time")
        return check_in_process(names[0], options.seed, options.seconds, options.full)
    if "seconds" in options.given:
        raise ValueError("--seconds has an effect only with a user-defined class, FILE.py:CLASS; "
                         "omit --seconds")
    checks = {name: CHECKS[name] for name in checks_named(names)}
    return show_checks(checks, options.seed, full=options.full)


def checks_named(parts: Sequence[str]) -> list[str]:
    """Return the names of the checks that `parts` select, in the order of CHECKS.

    A part that is the name of a check selects only this check. Any other part selects all checks
    whose names contain it, ignoring case. Raises ValueError if a part selects no check.
    """
    found = {part: [part] if part in CHECKS else
             [name for name in CHECKS if part.lower() in name.lower()] for part in parts}
    missing = [part for part, names in found.items() if not names]
    if missing:
        raise ValueError(f"no gradient check is named {' or '.join(missing)}. Pass a name or part "
                         f"of a name, such as {' or '.join(map(repr, list(CHECKS)[:2]))}; for a "
                         "class of your own, pass FILE.py:CLASS. `numpy-attention gradcheck` "
                         f"prints all {len(CHECKS)} names")
    return [name for name in CHECKS if any(name in names for names in found.values())]
