"""Write the tables of results/tables.md from results/*.jsonl, between its markers.

    python tools/results_table.py            write them
    python tools/results_table.py --check    exit with 1 if they differ, and change nothing
"""

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from numpy_attention.experiments.recipes import RECIPES, results  # noqa: E402


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Write the tables of results/tables.md from results/*.jsonl.")
    parser.add_argument("--check", action="store_true",
                        help="only report whether the tables are up to date")
    parser.add_argument("--page", type=Path, default=ROOT / "results" / "tables.md")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    options = parser.parse_args(arguments)
    if not options.page.is_file():
        print(f"results_table: {options.page} is missing, so there are no tables to compare",
              file=sys.stderr)
        return 2
    text = options.page.read_text("utf-8")
    try:
        new = results.put_tables(text, results.tables(results.read(options.results), RECIPES))
    except ValueError as error:
        print(f"results_table: {options.page.name}: {error}", file=sys.stderr)
        return 2
    if new == text:
        print(f"{options.page.name} is up to date")
        return 0
    if options.check:
        print(f"results_table: the tables in {options.page.name} differ from {options.results}: "
              "run python tools/results_table.py", file=sys.stderr)
        return 1
    partial = options.page.with_name(options.page.name + ".partial")
    partial.write_text(new, "utf-8")
    os.replace(partial, options.page)
    print(f"{options.page.name} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
