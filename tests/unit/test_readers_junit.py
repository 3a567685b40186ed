"""JUnit XML: which names are repeats, what a result is, and what no file may bring along."""

import pytest

from gate.errors import InvalidFileError
from gate.readers import read_any
from gate.report import Report

BOMB = """<?xml version="1.0"?>
<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<testsuite><testcase name="&c;"/></testsuite>"""
FOREIGN_FILE = """<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>"""


def suite(*names: str, inner: str = "") -> str:
    cases = "".join(f'<testcase classname="m" name="{name}">{inner}</testcase>' for name in names)
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>"


def read(text: str) -> Report:
    return read_any(text.encode(), "junit.xml")


def counts(text: str) -> dict[str, tuple[int, int]]:
    return {e.name: (e.probes[0].passes, e.probes[0].runs) for e in read(text).experiments}


def refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read_any(text.encode() if isinstance(text, str) else text, "junit.xml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["t[1-2]", "t[2-2]"], {"m::t": 2}, id="all there"),
        pytest.param(["t[2-2]", "t[1-2]"], {"m::t": 2}, id="in any order"),
        pytest.param(["t[a-1-2]", "t[a-2-2]", "t[b-1-2]", "t[b-2-2]"], {"m::t[a]": 2, "m::t[b]": 2}, id="parameters"),
        pytest.param(["t[1-5-1-2]", "t[1-5-2-2]"], {"m::t[1-5]": 2}, id="a parameter like a repeat"),
        pytest.param(["t[1-5]"], {"m::t[1-5]": 1}, id="a parameter alone"),
        pytest.param(["t[1-1]"], {"m::t[1-1]": 1}, id="one of one is no repeat"),
        pytest.param(["t[1-3]", "t[3-3]"], {"m::t[1-3]": 1, "m::t[3-3]": 1}, id="not all there"),
        pytest.param(["t[0-2]", "t[1-2]"], {"m::t[0-2]": 1, "m::t[1-2]": 1}, id="counted from zero"),
        pytest.param(["t[01-02]", "t[02-02]"], {"m::t[01-02]": 1, "m::t[02-02]": 1}, id="leading zeros"),
        pytest.param(["t[1-2]", "t[2-2]", "u"], {"m::t": 2, "m::u": 1}, id="beside a test that ran once"),
        pytest.param(["t[[x]-1-2]", "t[[x]-2-2]"], {"m::t[[x]]": 2}, id="brackets in a parameter"),
    ],
)
def test_repeats__are_joined_when_all_are_there(names: list[str], expected: dict[str, int]) -> None:
    assert {name: n for name, (_, n) in counts(suite(*names)).items()} == expected


def test_repeats__that_are_not_all_there_are_stated() -> None:
    assert any("m::t has 2 of 3" in text for text in read(suite("t[1-3]", "t[3-3]")).limits)


def test_repeats__of_one_name_in_two_lengths_are_refused() -> None:
    assert "two different tests" in refusal(suite("t[1-2]", "t[2-2]", "t[1-3]", "t[2-3]", "t[3-3]"))


def test_repeats__beside_a_test_of_their_name_are_refused() -> None:
    assert "two different tests" in refusal(suite("t", "t[1-2]", "t[2-2]"))


def test_duplicates__are_refused_with_the_reason() -> None:
    said = refusal(suite("t[1-2]", "t[2-2]", "t[2-2]", "u", "u"))
    assert "stands 2 times (and 1 more names do) without a mark" in said


def test_duplicates__in_different_classes_are_two_tests() -> None:
    text = '<testsuite><testcase classname="a" name="t"/><testcase classname="b" name="t"/></testsuite>'
    assert counts(text) == {"a::t": (1, 1), "b::t": (1, 1)}


def test_retries__that_are_marked_are_refused() -> None:
    assert "retried until it passed" in refusal(suite("t", inner='<flakyFailure message="x"/>'))


@pytest.mark.parametrize(
    ("inner", "passes", "runs", "lost"),
    [
        pytest.param("", 3, 3, 0, id="passed"),
        pytest.param("<failure message='no'/>", 2, 3, 0, id="failure"),
        pytest.param("<error message='fixture'/>", 2, 2, 1, id="error"),
        pytest.param("<failure/><error/>", 2, 3, 0, id="a failure, then an error"),
        pytest.param("<error/><failure/>", 2, 3, 0, id="an error, then a failure"),
        pytest.param("<skipped/>", 2, 2, 0, id="skipped"),
        pytest.param("<system-out>&lt;failure/&gt;</system-out>", 3, 3, 0, id="output is no result"),
        pytest.param("<properties><property name='failure'/></properties>", 3, 3, 0, id="properties are no result"),
    ],
)
def test_result__of_one_of_three(inner: str, passes: int, runs: int, lost: int) -> None:
    text = (
        '<testsuite><testcase name="t[1-3]"/><testcase name="t[2-3]"/>'
        f'<testcase name="t[3-3]">{inner}</testcase></testsuite>'
    )
    (experiment,) = read(text).experiments
    assert (experiment.probes[0].passes, experiment.probes[0].runs) == (passes, runs)
    assert (experiment.outcomes.infra, experiment.phases[0].planned_runs) == (lost, 3)


def test_skipped__tests_that_never_ran_are_left_out_and_stated() -> None:
    text = '<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>'
    assert list(counts(text)) == ["a"]
    assert any("1 results were skipped" in limit for limit in read(text).limits)


def test_skipped__all_of_them_is_no_report() -> None:
    assert "no run is in it" in refusal(suite("a", inner="<skipped/>"))


def test_failure__message_is_kept_as_the_detail() -> None:
    (experiment,) = read(suite("t", inner='<failure message="boom &amp; gone">long</failure>')).experiments
    assert experiment.probes[0].detail == "boom & gone"
    assert [f.detail for f in experiment.failures] == ["boom & gone"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(BOMB, "junit.xml:2: a document type or an entity is declared", id="entity bomb"),
        pytest.param(FOREIGN_FILE, "a document type or an entity is declared", id="external entity"),
        pytest.param("<!DOCTYPE html><html/>", "a document type or an entity is declared", id="HTML"),
        pytest.param("<html/>", "<html> at the top: not JUnit XML", id="other root"),
        pytest.param("<testsuite>" + "<a>" * 200, "nested deeper than 100", id="deep"),
        pytest.param("<testsuite><testcase/></testsuite>", "a <testcase> without a name", id="no name"),
        pytest.param(
            "<testsuite>\n<testcase name='a'><testcase name='b'/></testcase></testsuite>",
            "junit.xml:2: a <testcase> within another",
            id="nested cases",
        ),
        pytest.param("<testsuite>&undefined;</testsuite>", "not well-formed XML", id="unknown entity"),
        pytest.param("<testsuite/><testsuite/>", "not well-formed XML", id="two roots"),
        pytest.param("<testsuite/>", "no run is in it", id="no case"),
        pytest.param(
            "<?xml version='1.0' encoding='iso-8859-1'?><testsuite/>", "declared as iso-8859-1", id="other encoding"
        ),
        pytest.param(
            '<testsuites name="agent-chaos-gate"><testsuite/></testsuites>', "give report.json", id="made from a report"
        ),
    ],
)
def test_bad_xml__is_refused_with_its_line(text: str, said: str) -> None:
    assert said in refusal(text)
