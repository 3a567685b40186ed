"""What travels between agent and gate arrives as it was, or says that it did not."""

import datetime
import enum
import json
import math
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.chaos.wire import NODE_LIMIT, TEXT_LIMIT, Encoder, cut, decode, dumps


class Opaque:
    """What an opaque value becomes on the other side."""

    def __init__(self, payload: list[Any]) -> None:
        self.text = payload[0]


def through(value: Any) -> Any:
    line = dumps(Encoder(lambda v, _: [type(v).__name__]).encode(value))
    assert "\n" not in line
    return decode(json.loads(line), Opaque)


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.datetimes(timezones=st.none() | st.just(datetime.UTC)).filter(lambda time: not time.fold)
    | st.dates()
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4)
values = st.recursive(
    scalars | st.sets(hashable, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | hashable, inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(values)
def test_value__comes_back_equal_and_of_the_same_type(value: Any) -> None:
    back = through(value)
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, set | frozenset | list | dict | tuple)


@pytest.mark.parametrize("text", ["\ud800", "\ud83d\ude00", "é\udfff", "$f", "\u2028\n\r"])
def test_text__of_any_code_points(text: str) -> None:
    assert through([text]) == [text]
    assert through({text: text}) == {text: text}


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_float__infinite(number: float) -> None:
    assert through(number) == number


def test_float__nan() -> None:
    assert math.isnan(through(math.nan))


@pytest.mark.parametrize("value", [{"$f": "nan"}, {"$o": [1]}, {"$nothing": 1}, {"$m": []}])
def test_dict__that_looks_like_a_tag(value: Any) -> None:
    assert through(value) == value


def test_subclass__travels_as_its_base() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Number(enum.IntEnum):
        ONE = 1

    point = namedtuple("point", "x y")
    value = [Colour.RED, Number.ONE, point(1, 2), OrderedDict(a=1), True]
    assert through(value) == ["red", 1, (1, 2), {"a": 1}, True]
    assert [type(v) for v in through(value)] == [str, int, tuple, dict, bool]


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2026, 10, 25, 2, 30, fold=1),
        object(),
        1j,
        bytearray(b"x"),
        10**5_000,
        "x" * (TEXT_LIMIT + 1),
        b"x" * (TEXT_LIMIT + 1),
        [0] * NODE_LIMIT,
    ],
    ids=["fold", "object", "complex", "bytearray", "big int", "long text", "long bytes", "long list"],
)
def test_opaque__what_cannot_travel(value: Any) -> None:
    assert isinstance(through(value), Opaque)


def test_opaque__a_cycle_is_cut_where_it_closes() -> None:
    cyclic: list[Any] = [1]
    cyclic.append({"again": cyclic})
    back = through(cyclic)
    assert back[0] == 1
    assert back[1]["again"].text == "list"


def test_opaque__the_same_value_twice_is_no_cycle() -> None:
    shared = ["x"]
    assert through([shared, shared]) == [["x"], ["x"]]


def test_opaque__too_deep() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    back = through(deep)
    while isinstance(back, list):
        (back,) = back
    assert back.text == "list"


def test_set__of_what_cannot_be_hashed_on_the_other_side() -> None:
    class Items(list[int]):
        __hash__ = object.__hash__  # type: ignore[assignment]

    (back,) = through({Items([1])})
    assert back.text == "Items"


def test_proxy__that_lies_about_its_class() -> None:
    class Liar:
        __class__ = property(lambda _self: dict)

    assert through(Liar()).text == "Liar"


@pytest.mark.parametrize(
    "form", [{"$no": 1}, {"$f": "x"}, {"$b": 5}, {"$u": [-1]}, {"$t": 1}, {"$date": "x"}, {"$s": [[]]}]
)
def test_decode__refuses_a_bad_tag(form: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(form, Opaque)


def test_cut__keeps_both_ends() -> None:
    text = "a" * 60 + "b" * 60
    assert cut(text, 100) == "a" * 50 + "[... 20 characters cut ...]" + "b" * 50
    assert cut("short", 100) == "short"


def test_date__is_not_a_datetime() -> None:
    assert type(through(datetime.date(2026, 1, 2))) is datetime.date
