"""Whatever the bytes are, a reader gives a report whose counts are possible, or an error of the gate."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gate.errors import GateError
from gate.readers import read_any
from gate.report import read_report

SAMPLES = Path(__file__).parents[1] / "samples"
SMALL = [p.read_bytes() for p in sorted(SAMPLES.rglob("*")) if p.stat().st_size < 10_000 and p.is_file()]
TOKENS = [
    "null",
    "true",
    "-1",
    "1e999",
    "NaN",
    "[]",
    "{}",
    '""',
    '"x"',
    "9" * 30,
    "<a>",
    "&b;",
    "\x00",
    "é",
    '"\\ud800"',
]


def check(data: bytes) -> None:
    """Read; what comes of it must survive our own strict reader."""
    try:
        report = read_any(data, "file")
    except GateError as error:
        said = str(error)
    else:
        assert read_report(report.to_json(), "again") == report
        return
    assert "file" in said


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_bytes__of_any_kind(data: bytes) -> None:
    check(data)


@settings(deadline=None)
@given(
    st.sampled_from([b"{", b"[", b"<", b"[true,", b'{"results":', b"<testsuite><testcase name='", b"PK\x03\x04"]),
    st.text(),
)
def test_beginning__of_a_report_and_then_anything(begin: bytes, rest: str) -> None:
    check(begin + rest.encode("utf-8", "surrogatepass"))


@settings(deadline=None)
@given(st.data())
def test_sample__with_a_piece_replaced(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL))
    start = data.draw(st.integers(0, len(sample)))
    length = data.draw(st.sampled_from([0, 1, 2, 5, 50, 500]))
    piece = data.draw(st.one_of(st.binary(max_size=8), st.sampled_from(TOKENS).map(str.encode)))
    check(sample[:start] + piece + sample[start + length :])


@settings(deadline=None)
@given(st.data())
def test_sample__with_a_value_replaced(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SMALL))
    tokens = [b"true", b"false", b"passed", b"1", b"[", b"name", b'"', b"5"]
    old = data.draw(st.sampled_from(tokens))
    new = data.draw(st.sampled_from(TOKENS)).encode()
    check(sample.replace(old, new, data.draw(st.integers(1, 3))))


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 59))
def test_junit__repeats_count_as_they_were_written(results: list[bool], lost: int) -> None:
    n = len(results) + 1
    cases = [f'<testcase name="t[{i}-{n}]">{"" if ok else "<failure/>"}</testcase>' for i, ok in enumerate(results, 1)]
    whole = [*cases, f'<testcase name="t[{n}-{n}]"/>']
    (experiment,) = read_any(f"<testsuite>{''.join(whole)}</testsuite>".encode(), "x").experiments
    assert (experiment.probes[0].passes, experiment.probes[0].runs) == (sum(results) + 1, n)
    del whole[lost % n]
    parted = read_any(f"<testsuite>{''.join(whole)}</testsuite>".encode(), "x").experiments
    assert all(e.probes[0].runs == 1 for e in parted)
