"""JSON looked through without a tree: twins, ends, elements. What is JSON is decided by Python's own parser."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidFileError
from gate.jsontext import JsonText

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def elements(text: str, *path: tuple[str, ...]) -> tuple[list[object], object]:
    """Return the elements of the arrays at a path, and the document with these arrays empty."""
    data = text.encode()
    found: list[object] = []
    insides = JsonText(data, "f").walk(path, lambda _, start, end: found.append(json.loads(data[start:end])))
    for inside in reversed(insides):
        data = data[: inside.start] + data[inside.stop :]
    return found, json.loads(data)


def refusal(text: str | bytes, *path: tuple[str, ...]) -> str:
    with pytest.raises(InvalidFileError) as caught:
        JsonText(text.encode() if isinstance(text, str) else text, "f").walk(path)
    return caught.value.problems[0]


@given(st.lists(VALUES), st.sampled_from([None, 1]), st.booleans())
def test_walk__hands_out_every_element_and_leaves_the_rest(items: list[object], indent: int | None, raw: bool) -> None:
    def written(value: object) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=not raw)

    def same(one: object, other: object) -> bool:
        return json.dumps(one) == json.dumps(other)  # NaN is not itself

    wanted = json.loads(json.dumps(items))
    for document, path, rest in (
        (items, (), []),
        ({"a": {"b": items, "c": items}, "d": 1}, (("a",), ("b",)), {"a": {"b": [], "c": items}, "d": 1}),
        ({"x": 1, "b": items}, (("a", "b"),), {"x": 1, "b": []}),
    ):
        found, left = elements(written(document), *path)
        assert same(found, wanted) and same(left, rest)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": {"b": 2}}', '{"a": [[1]]}', "[{}]", "3", "null"], ids=str)
def test_walk__finds_nothing_where_nothing_is(text: str) -> None:
    assert elements(text, ("a",), ("c",)) == ([], json.loads(text))


@pytest.mark.parametrize("path", [(), (("a",),), (("a",), ("b",))], ids=str)
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"k": 1,\n"k": 2}', 2),
        ('{"k": [1, {}, {"}": "}"}],\n"k": {}}', 2),
        ('{"a": {"k": 1,\n"l": {},\n"k": 2}}', 3),
        ('{"a": {"b": [1, {}, {"k": 1,\n"k": 2}]}}', 2),
        ('{"a": [{"k": {"x": "}"},\n\n"k": 2}]}', 3),
        ('[{"x": "\\"}"}, [{"k": 1, "k": 2}]]', 1),
        ('{"k": 1, "\\u006b": 2}', 1),
    ],
    ids=repr,
)
def test_key__that_stands_twice_is_refused_by_line(text: str, line: int, path: tuple[tuple[str, ...], ...]) -> None:
    assert refusal(text, *path) == f"f:{line}: key 'k' stands twice in one object"


@pytest.mark.parametrize("path", [(), (("x",),)], ids=["decoded", "walked"])
def test_key__is_the_same_with_and_without_an_escape(path: tuple[tuple[str, ...], ...]) -> None:
    assert "key 'é' stands twice" in refusal('{"é": 1, "\\u00e9": 2}', *path)
    JsonText('{"é": 1, "e": 2, "日本": 3, "\\u65e5": 4}'.encode(), "f").walk(path)


@pytest.mark.parametrize("path", [(), (("a",),)], ids=["array", "object"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("[1,\n2", 2),
        ("[1,\n]", 2),
        ("[1 2]", 1),
        ("[1] x", 1),
        ('{"a":', 1),
        ('{"a": [1,\n\n', 3),
        ('{"a": [1, {"b": }]}', 1),
        ('{"a" 1}', 1),
        ('{"a": 1', 1),
        ('["\n"]', 1),
        ("{1: 2}", 1),
    ],
    ids=repr,
)
def test_text__that_is_not_whole_is_refused_by_line(text: str, line: int, path: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(ValueError, match=r"^"):
        json.loads(text)
    assert refusal(text, *path).startswith(f"f:{line}: Invalid JSON: ")
