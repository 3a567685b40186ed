"""Figures as they are shown: counts first, rounded once and towards the worse."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from gate.comparison import Counts
from gate.render.escape import Own, Sentence, say

NONE = Own("–")


def percent(passes: int, runs: int) -> Own:
    """Return a pass rate, floored to a whole percent: `72 %`. 100 % means every single run."""
    return Own(f"{100 * passes // runs} %" if passes <= runs else "impossible")


def counts(value: Counts | None) -> Own:
    """Return `29/40 (72 %)`, or in words that there is nothing."""
    if value is None:
        return Own("no data")
    return (
        Own(f"{value.passes:,}/{value.runs:,} ({percent(value.passes, value.runs)})") if value.runs else Own("no runs")
    )


def p_value(value: float | None) -> Own:
    """Return a p-value rounded up, with its relation: `= .50`, `= .012`, `< .001`; a dash for none."""
    if value is None:
        return NONE
    exact = Decimal(repr(value))
    if exact < Decimal("0.001"):
        return Own("< .001")
    step = Decimal("0.01") if exact >= Decimal("0.1") else Decimal("0.001")
    return Own(f"= {_bare(exact.quantize(step, ROUND_CEILING))}")


def p_cell(value: float | None) -> Own:
    """Return a p-value for a column that is headed p."""
    return Own(p_value(value).removeprefix("= "))


def power(value: float) -> Own:
    """Return a power rounded down: `.63`; never 1 unless it is."""
    return Own(_bare(Decimal(repr(value)).quantize(Decimal("0.01"), ROUND_FLOOR)))


def level(value: float) -> Own:
    """Return an error level as it was set: `.05`."""
    return Own(_bare(_short(value)).rstrip("0"))


def points(value: float) -> Own:
    """Return a drop in pass rate in percentage points, rounded up to a tenth: `10 points`."""
    shown = (_short(value) * 100).quantize(Decimal("0.1"), ROUND_CEILING)
    text = f"{shown:f}".removesuffix(".0")
    return Own(f"{text} point" if text == "1" else f"{text} points")


def share(value: float) -> Own:
    """Return a rate that somebody set, such as a threshold: `95 %`, `99.5 %`."""
    text = f"{(_short(value) * 100).quantize(Decimal('0.01'), ROUND_FLOOR):f}"
    return Own(text.rstrip("0").rstrip(".") + " %")


def bound(value: float) -> Own:
    """Return an upper bound, rounded up to a tenth of a percent: `7.3 %`."""
    return Own(f"{(_short(value) * 100).quantize(Decimal('0.1'), ROUND_CEILING):f} %")


def interval(low: float, high: float, *, perfect: bool) -> Own:
    """Return `57–84 %`, rounded outwards; an interval of less than all passes never ends at a plain 100."""
    bottom = (_short(low) * 100).quantize(Decimal(1), ROUND_FLOOR)
    top = (_short(high) * 100).quantize(Decimal(1), ROUND_CEILING)
    if top == 100 and not perfect:
        return Own(
            f"{bottom:f}–{min((_short(high) * 100).quantize(Decimal('0.1'), ROUND_CEILING), Decimal('99.9')):f} %"
        )
    return Own(f"{bottom:f}–{top:f} %")


def wilson(value: Counts | None) -> Own:
    """Return the 95 % Wilson interval of counts, a dash for none."""
    from gate.stats import wilson_interval

    if value is None or not value.passes <= value.runs or not value.runs:
        return NONE
    return interval(*wilson_interval(value.passes, value.runs), perfect=value.passes == value.runs)


def range_of(values: Sequence[Counts]) -> Own:
    """Return the lowest and the highest pass rate, each as `percent` has it: `90–100 %`, or one of them."""
    low, high = (int(rate(100 * c.passes // c.runs for c in values)) for rate in (min, max))
    return Own(f"{low} %" if low == high else f"{low}–{high} %")


def money(usd: float | None) -> Own:
    """Return a cost, rounded up to a cent: `0.42 USD`. The dollar sign would start a formula on GitHub."""
    if usd is None:
        return Own("cost unknown")
    return Own(f"{Decimal(repr(usd)).quantize(Decimal('0.01'), ROUND_CEILING):,f} USD")


def many(count: int, one: str, more: str = "") -> Own:
    """Return `1 run` or `2 runs`."""
    return Own(f"{count:,} {one if count == 1 else more or one + 's'}")


def of(value: Counts) -> Sentence:
    """Return `1 of 40 runs`: the failures, not the passes."""
    return say("{} of {}", value.runs - value.passes, many(value.runs, "run"))


def _short(value: float) -> Decimal:
    """Return a float without the digits that binary arithmetic left behind."""
    return Decimal(repr(value)).quantize(Decimal("0.0000001"), ROUND_HALF_EVEN)


def _bare(value: Decimal) -> str:
    return "1" if value == 1 else f"{value:f}".removeprefix("0")
