"""Times the exact tests against scipy in one process and prints the tables that docs/statistics.md shows.

Usage: python benchmarks/stats_speed.py [--without-scipy-1000]
"""

import gc
import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

from scipy.stats import boschloo_exact

from gate import stats
from gate.stats import berger_boos, cells, exact, noninferiority, order

CACHES = [
    berger_boos.berger_boos,
    berger_boos._rate_ranges,
    cells.rate_cells,
    exact._p_value,
    exact._boundary,
    noninferiority._p_value,
    noninferiority._boundary,
    order.fisher,
    order.score,
]
PAIRS = [(40, 40), (100, 40), (40, 80), (60, 60)]


def forget() -> None:
    """Empty every cache, so that the next call pays for everything."""
    for cache in CACHES:
        cache.cache_clear()
    gc.collect()


def seconds(action: Callable[[], object], *, repeats: int, cold: bool = True) -> float:
    """Shortest of `repeats` timings; the caches are emptied before each unless `cold` is False."""
    best = float("inf")
    for _ in range(repeats):
        if cold:
            forget()
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def one_p_value() -> None:
    print(
        "| runs per arm | `boschloo_exact` | default first | ratio | default later | ratio | Boschloo first | ratio |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for n in (40, 100, 300, 1000):
        if n == 1000 and "--without-scipy-1000" in sys.argv:
            continue
        base, head = round(0.95 * n), round(0.88 * n)
        columns = [[base, head], [n - base, n - head]]  # scipy takes the arms as columns
        theirs = seconds(lambda c=columns: boschloo_exact(c, alternative="greater"), repeats=1 if n == 1000 else 3)
        first = seconds(lambda n=n, b=base, h=head: stats.exact_test(b, n, h, n), repeats=5)
        others = [(base - i, head - j) for i in range(3) for j in range(1, 5)]
        later = seconds(
            lambda n=n, o=others: [stats.exact_test(b, n, h, n) for b, h in o], repeats=1, cold=False
        ) / len(others)
        boschloo = seconds(lambda n=n, b=base, h=head: stats.exact_test(b, n, h, n, test="boschloo"), repeats=5)
        print(
            f"| {n} | {1e3 * theirs:.0f} ms | {1e3 * first:.1f} ms | {theirs / first:.0f}x | {1e3 * later:.2f} ms "
            f"| {theirs / later:.0f}x | {1e3 * boschloo:.1f} ms | {theirs / boschloo:.0f}x |"
        )


def boundaries() -> None:
    print("| runs | rejection boundary | Boschloo's | non-inferiority boundary | certified size | peak memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n1, n2 in ((40, 40), (100, 100), (100, 40), (300, 300), (1000, 1000), (20, 2000)):
        times = [
            seconds(lambda a=n1, b=n2: stats.rejection_boundary(a, b), repeats=3),
            seconds(lambda a=n1, b=n2: stats.rejection_boundary(a, b, test="boschloo"), repeats=3),
            seconds(lambda a=n1, b=n2: stats.noninferiority_boundary(a, b, min_effect=0.1, beta=0.2), repeats=3),
        ]
        stats.rejection_boundary(n1, n2)
        times.append(seconds(lambda a=n1, b=n2: stats.test_size(a, b), repeats=3, cold=False))
        forget()
        tracemalloc.start()
        stats.rejection_boundary(n1, n2)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        shown = " | ".join(f"{1e3 * t:.1f} ms" for t in times)
        print(f"| {n1}, {n2} | {shown} | {peak:.1f} MiB |")


def compare_rows(rows: list[tuple[int, int, int, int]]) -> None:
    """What a comparison computes for each probe."""
    for x1, n1, x2, n2 in rows:
        stats.wilson_interval(x1, n1)
        stats.wilson_interval(x2, n2)
        stats.exact_test(x1, n1, x2, n2)
        stats.exact_test(x2, n2, x1, n1)
        stats.noninferiority_test(x1, n1, x2, n2, min_effect=0.1)
        stats.rejection_boundary(n1, n2)
        stats.noninferiority_boundary(n1, n2, min_effect=0.1, beta=0.2)
        stats.exact_power(n1, n2, x1 / n1, max(0.0, x1 / n1 - 0.1))
    stats.step_down(rows)


def thousand_probes() -> None:
    print("| 1,000 probes | time | distinct tables | peak memory |")
    print("| --- | --- | --- | --- |")
    for name, pairs in (("all 40 against 40", PAIRS[:1]), ("four pairs of run counts", PAIRS)):
        chance = random.Random(7)
        rows = []
        for _ in range(1000):
            n1, n2 = chance.choice(pairs)
            rate = chance.choice([1.0, 0.99, 0.95, 0.9, 0.8])
            passes = [sum(chance.random() < rate for _ in range(n)) for n in (n1, n2)]
            rows.append((passes[0], n1, passes[1], n2))
        taken = seconds(lambda r=rows: compare_rows(r), repeats=3)
        forget()
        tracemalloc.start()
        compare_rows(rows)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"| {name} | {taken:.2f} s | {len(set(rows))} | {peak:.0f} MiB |")


def start_up() -> None:
    code = "import time; t = time.perf_counter(); import gate.stats; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(3)
    ]
    print(f"import gate.stats: {min(runs):.2f} s (numpy and scipy.special, not scipy.stats)")


if __name__ == "__main__":
    for part in (one_p_value, boundaries, thousand_probes, start_up):
        part()
        print(flush=True)
