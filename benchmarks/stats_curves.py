"""Draws docs/figures/power.svg and docs/figures/size.svg from exact enumeration of every table.

Needs matplotlib, which is not among the project's dependencies: pip install matplotlib

Usage: python benchmarks/stats_curves.py
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gate import stats
from gate.stats.cells import region_probability

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
ALPHA = 0.05
RUNS = 40
Z_ALPHA = 1.6448536269514722  # one-sided 5 % point of the normal law
Boundary = np.ndarray[tuple[int], np.dtype[np.int64]]


def chi_square(runs: int) -> Boundary:
    """The pooled z-test without correction."""
    passes = np.arange(runs + 1)
    base, head = passes[:, None] / runs, passes / runs
    pooled = (base + head) / 2
    error = np.sqrt(np.maximum(pooled * (1 - pooled) * 2 / runs, 1e-300))
    rejected = (base - head) / error >= Z_ALPHA
    return np.asarray(rejected.sum(axis=1) - 1)


def below(runs: int) -> Boundary:
    """A regression whenever head has fewer passes."""
    return np.arange(runs + 1) - 1


def exact(test: stats.Test) -> Callable[[int], Boundary]:
    return lambda runs: np.array(stats.rejection_boundary(runs, runs, alpha=ALPHA, test=test), dtype=np.int64)


RULES: list[tuple[str, str, str, float, Callable[[int], Boundary]]] = [
    ("default test", "#0b6e4f", "-", 2.2, exact("unconditional")),
    ("Boschloo", "#1f6feb", "-", 1.3, exact("boschloo")),
    ("Fisher", "#8250df", "-", 1.3, exact("fisher")),
    ("chi-square, uncorrected", "#b35900", (0, (4, 2)), 1.3, chi_square),
    ("head rate < base rate", "#57606a", (0, (1, 2)), 1.5, below),
]


def draw_power() -> None:
    figure = Figure(figsize=(9, 3.9), layout="constrained")
    counts = range(5, 121)
    cases = [(1.0, 0.90), (0.95, 0.75)]
    axes: list[Axes] = list(figure.subplots(1, len(cases), sharey=True))
    for axis, (base, head) in zip(axes, cases, strict=True):
        for name, colour, dashes, width, rule in RULES:
            power = [region_probability(rule(n), n, base, head) for n in counts]
            label = f"{name} (not a test)" if rule is below else name
            axis.plot(counts, power, color=colour, linestyle=dashes, linewidth=width, label=label)
        axis.axhline(0.8, color="#d0d7de", linewidth=0.8, zorder=0)
        axis.set_title(f"pass rate {base:.0%} → {head:.0%}", fontsize=10, loc="left")
        axis.set_xlabel("runs per arm")
        axis.set_xlim(counts[0], counts[-1])
        axis.set_ylim(0, 1.01)
    axes[0].set_ylabel("chance of calling the regression")
    axes[1].legend(loc="lower right", frameon=False, fontsize=9)
    save(figure, "power")


def draw_size() -> None:
    figure = Figure(figsize=(9, 3.9), layout="constrained")
    axis: Axes = figure.subplots()
    rates = np.sin(np.linspace(0, np.pi / 2, 801)) ** 2
    for name, colour, dashes, width, rule in RULES:
        boundary = rule(RUNS)
        size = [region_probability(boundary, RUNS, float(p), float(p)) for p in rates]
        label = f"{name}: at most {max(size):.3f}"
        axis.plot(rates, size, color=colour, linestyle=dashes, linewidth=width, label=label)
    axis.axhline(ALPHA, color="#cf222e", linewidth=0.8)
    axis.text(0.5, ALPHA + 0.0012, "alpha", color="#cf222e", fontsize=9, ha="center")
    axis.set_xlabel("pass rate of both arms")
    axis.set_ylabel("chance of a false regression")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 0.1)
    axis.legend(loc="upper center", frameon=True, framealpha=1, edgecolor="white", fontsize=9, ncols=2)
    save(figure, "size")


def save(figure: Figure, name: str) -> None:
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    mpl.rcParams.update({"svg.hashsalt": "gate", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    draw_power()
    draw_size()
