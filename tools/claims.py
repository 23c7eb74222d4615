"""Write the tables of claims in results/README.md and draw docs/claims.png.

    python tools/claims.py            write the tables and draw the figure
    python tools/claims.py --check    exit with 1 if the tables differ, and change nothing

Both come from results/claims.toml and the figures in results/*.jsonl. Differences are per seed, in
the direction of the claim. Perplexities are compared as logarithms, in nats per token. Intervals
are Student's, over the seeds.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

from numpy_attention import plotting  # noqa: E402
from numpy_attention.experiments.recipes import results  # noqa: E402
from numpy_attention.experiments.recipes.loading import tomllib  # noqa: E402

STUDENT = {3: 4.303, 4: 3.182, 5: 2.776}        # two-sided 95 %, by the number of seeds
COLOURS = {"confirmed": plotting.COLOURS[0], "refuted": plotting.COLOURS[1], "undecided": "0.5"}
PANELS = {
    "nats": "nats per token or word in favour of the claim",
    "ablated": "nats per token or word lost with other weights",
    "bleu": "BLEU in favour of the claim",
    "pointing": "share of links in favour of the claim",
}


@dataclass
class Difference:
    """A difference in the direction of the claim."""

    panel: str
    by_seed: list
    mean: float
    low: float | None       # ends of the interval; None: too few seeds
    high: float | None
    seeds: int


def recorded():
    """Return {(recipe, metric): {seed: value}} for the test splits."""
    found = {}
    for line in results.read(ROOT / "results"):
        if line["split"].startswith("test"):
            seeds = found.setdefault((line["recipe"], line["metric"].replace("_", " ")), {})
            seeds[line["seed"]] = line["value"]
    return found


def sides(claim, figures):
    """Return {seed: value} of control and mechanism for common seeds; a baseline is a float."""
    both = [one if isinstance(one, float) else figures[one, claim["metric"]]
            for one in claim["compare"]]
    seeds = set.intersection(*(set(one) for one in both if not isinstance(one, float)))
    return [one if isinstance(one, float) else {seed: one[seed] for seed in sorted(seeds)}
            for one in both]


def difference(claim, figures):
    if "interval" in claim:
        return Difference(claim.get("panel", "nats"), [], *claim["interval"], claim["seeds"])
    control, ours = sides(claim, figures)
    if isinstance(control, float):
        control = dict.fromkeys(ours, control)
    seeds = sorted(ours)
    if claim["metric"] == "perplexity":
        panel = "nats"
        values = [np.log(control[seed] / ours[seed]) for seed in seeds]
    else:
        panel = claim["metric"].split()[0]
        values = [ours[seed] - control[seed] for seed in seeds]
    low = high = None
    if len(seeds) in STUDENT:
        half = STUDENT[len(seeds)] * stdev(values) / len(seeds)**0.5
        low, high = mean(values) - half, mean(values) + half
    return Difference(panel, values, mean(values), low, high, len(seeds))


def check_verdict(claim, found):
    """Raise ValueError if the figures do not support the verdict of the claim."""
    verdict = claim["verdict"]
    if verdict == "undecided":
        return
    positive = found.low is not None and found.low > -claim.get("margin", 0)
    negative = found.high is not None and found.high < 0
    if found.seeds < 3 or not {"confirmed": positive, "refuted": negative}[verdict]:
        raise ValueError(f"{claim['claim']}: {verdict}, but {found.seeds} seeds give "
                         f"{found.mean:.3f} [{found.low}, {found.high}]")


def as_text(value):
    """Format a baseline, or the values of the seeds as mean ± standard deviation."""
    values = [value] if isinstance(value, float) else list(value.values())
    digits = 3 if values[0] < 1 else 2 if values[0] < 10 else 1
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{spread}"


def slug(heading):
    """Return the anchor of a heading."""
    return "".join(one for one in heading.lower().replace(" ", "-") if one.isalnum() or one == "-")


def ours(claim, figures, found):
    if "interval" in claim:
        ends = f"[{found.low:.3f}, {found.high:.3f} over {claim['over']}]".replace("-", "−")
        interval = f"{found.mean:.3f} {claim['unit']} {ends}"
        return f"{claim['where']}, a gain of {interval}" if "where" in claim else interval
    metric = {"bleu": "BLEU", "pointing": "of the links"}.get(claim["metric"].split()[0],
                                                              claim["metric"])
    named = zip(claim["names"], map(as_text, sides(claim, figures)))
    return " → ".join(map(" ".join, named)) + f" {metric}"


def table(claims, figures, differences):
    """Format one table per part of the claims, each under its heading."""
    rows = []
    for claim, found in zip(claims, differences):
        if "part" in claim:
            rows += ["", f"## {claim['part']}", "",
                     "| claim | published | here | seeds | verdict | why |",
                     "|---|---|---|---:|---|---|"]
        rows.append(f"| [{claim['claim']}](claims.md#{slug(claim['claim'])}) ({claim['paper']}) | "
                    f"{claim['published']} | {ours(claim, figures, found)} | "
                    f"{claim.get('shown_seeds', found.seeds)} | **{claim['verdict']}** | "
                    f"{claim['why']} |")
    return "\n".join([*rows, ""])


def draw(claims, differences, path):
    """Draw a forest plot with one row per claim and one panel per unit."""
    groups = {panel: [pair for pair in zip(claims, differences) if pair[1].panel == panel]
              for panel in PANELS}
    sizes = [len(group) for group in groups.values()]
    figure, axes = plt.subplots(
        len(PANELS), figsize=(9.5, 1.8 + 0.38 * sum(sizes)), layout="constrained",
        height_ratios=[size + 1 for size in sizes])
    for ax, (panel, group) in zip(axes, groups.items()):
        for row, (claim, found) in enumerate(group):
            colour = COLOURS[claim["verdict"]]
            if found.low is not None:
                ax.plot([found.low, found.high], [row, row], color=colour, linewidth=2)
            ax.plot(found.by_seed, [row] * len(found.by_seed), "o", color=colour, markersize=3,
                    alpha=0.6)
            ax.plot(found.mean, row, "D", color=colour, markersize=6)
        ax.axvline(0, color="0.5", linewidth=1)
        ax.set_yticks(range(len(group)), [claim["claim"] for claim, _ in group])
        ax.set_ylim(len(group) - 0.5, -0.5)
        ax.set_xlabel(PANELS[panel])
        ax.grid(alpha=0.3, axis="x")
    axes[0].legend(handles=[Line2D([], [], color=colour, marker="D", label=verdict)
                            for verdict, colour in COLOURS.items()], loc="upper left")
    figure.suptitle("The papers' claims: mean (diamond), seeds (dots), 95 % interval (line)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write and draw the table of claims.")
    parser.add_argument("--check", action="store_true",
                        help="report whether the table is up to date, and write nothing")
    options = parser.parse_args(arguments)
    claims = tomllib.loads((ROOT / "results" / "claims.toml").read_text("utf-8"))["claim"]
    figures = recorded()
    differences = [difference(claim, figures) for claim in claims]
    for claim, found in zip(claims, differences):
        check_verdict(claim, found)
    readme = ROOT / "results" / "README.md"
    text = readme.read_text("utf-8")
    new = results.put_tables(text, table(claims, figures, differences))
    if options.check:
        if new != text:
            print("claims: results/README.md differs: run python tools/claims.py", file=sys.stderr)
        return int(new != text)
    readme.write_text(new, "utf-8")
    draw(claims, differences, ROOT / "docs" / "claims.png")
    print("results/README.md and docs/claims.png are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
