"""Print the lines of Python in each folder next to its budget; exit with 1 if one is exceeded.

    python tools/line_budget.py

tools/line_budget.ini has the budgets, with a reason for each that was raised. Only files that git
tracks are counted.
"""

import argparse
import configparser
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked(root=ROOT):
    """Return {path: number of lines} of all Python files that git tracks."""
    names = subprocess.run(["git", "ls-files", "-z", "*.py"], cwd=root, check=True,
                            capture_output=True, text=True).stdout
    return {name: len((root / name).read_text(encoding="utf-8").splitlines())
            for name in names.split("\0") if name and (root / name).is_file()}


def lines_in(folders, counts):
    """Count the lines of the files in `folders`, each the path of a folder or file."""
    return sum(lines for path, lines in counts.items()
               if any(path == folder or path.startswith(f"{folder}/") for folder in folders))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=Path, metavar="FILE",
                        default=ROOT / "tools" / "line_budget.ini")
    options = parser.parse_args(arguments)
    budgets = configparser.ConfigParser()
    budgets.read_string(options.budgets.read_text(encoding="utf-8"))
    counts = tracked()
    exceeded = []
    print(f"{'lines':>7} {'budget':>7}")
    for name in budgets.sections():
        section = budgets[name]
        lines, budget = lines_in(section["folders"].split(), counts), section.getint("lines")
        reason = f" ({section['reason']})" if "reason" in section else ""
        print(f"{lines:>7,} {budget:>7,} {name}{reason}")
        if lines > budget:
            exceeded.append(f"{name} by {lines - budget:,} lines")
    if exceeded:
        print(f"over budget: {', '.join(exceeded)}: remove code, or raise the budget in "
              f"{options.budgets.name} and give a reason there", file=sys.stderr)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
