"""What the marks record and do, without a process in between. Kinds and order: those of the public format."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from gate import chaos
from gate.chaos import hook
from gate.engine.session import Session
from gate.faults import Delay, Override, Raise, Repeat, Return


class InProcess:
    """Stands for the connection of a run: the same two calls, answered by a session in this process."""

    def __init__(self) -> None:
        self.session = Session()
        self.effects: dict[str, Any] = {}
        self.asked: list[tuple[str, str, Any]] = []

    @property
    def points(self) -> frozenset[str]:
        return frozenset(self.effects)

    def record(self, kind: str, name: str, **data: Any) -> None:
        self.session.record(kind, name, data)

    def intercept(self, point: str, name: str, value: Any, can: tuple[str, ...]) -> tuple[float, Callable[[], Any]]:
        self.asked.append((point, name, value))
        effect = self.effects.get(point, Return(value))
        return (effect.seconds if isinstance(effect, Delay) else 0.0), lambda: self._finish(effect, value)

    def _finish(self, effect: Any, value: Any) -> Any:
        if isinstance(effect, Raise):
            raise hook._error(effect.error, effect.message, effect.fields)
        if isinstance(effect, Repeat):
            raise hook.Repeat(effect.times)
        if isinstance(effect, Override):
            raise hook.Override(effect.value)
        return effect.value if isinstance(effect, Return) else value

    @property
    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [(e.kind, e.name, e.data) for e in self.session.trace.events]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    run = InProcess()
    monkeypatch.setattr(hook, "_attached", run)
    return run


@chaos.tool
def add(left: int, right: int = 1) -> int:
    """Add."""
    return left + right


@chaos.tool
async def add_later(left: int, right: int = 1) -> int:
    await asyncio.sleep(0)
    return left + right


def test_tool__records_call_and_result(run: InProcess) -> None:
    assert add(1, right=2) == 3
    assert run.events == [
        ("tool.call", "add", {"args": [1], "kwargs": {"right": 2}}),
        ("tool.call.result", "add", {"result": 3}),
    ]
    assert run.asked == [("tool.call", "add", None), ("tool.result", "add", 3)]


def test_tool__async_does_the_same(run: InProcess) -> None:
    assert asyncio.run(add_later(1, right=2)) == 3
    assert [kind for kind, _, _ in run.events] == ["tool.call", "tool.call.result"]
    assert run.asked == [("tool.call", "add_later", None), ("tool.result", "add_later", 3)]


@pytest.mark.parametrize(
    ("mark", "kinds", "points"),
    [
        (chaos.tool, ["tool.call", "tool.call.result"], ["tool.call", "tool.result"]),
        (chaos.llm, ["llm.call", "llm.call.result"], ["llm.call", "llm.response"]),
        (chaos.memory, ["memory.read", "memory.read.result"], ["memory.read"]),
        (chaos.control, ["control", "control.result"], ["control"]),
        (chaos.agent, ["agent.call", "agent.call.result"], ["agent.call", "agent.message"]),
        (chaos.payment, ["payment.call", "payment.call.result"], ["payment.call", "payment.result"]),
    ],
    ids=["tool", "llm", "memory", "control", "agent", "payment"],
)
def test_mark__kinds_and_points(run: InProcess, mark: Any, kinds: list[str], points: list[str]) -> None:
    mark("name")(lambda: None)()
    assert [kind for kind, _, _ in run.events] == kinds
    assert [point for point, _, _ in run.asked] == points


@pytest.mark.parametrize(
    ("decorate", "name"),
    [
        (chaos.tool, "task"),
        (chaos.tool(), "task"),
        (chaos.tool("other"), "other"),
        (chaos.tool(name="other"), "other"),
        (chaos.tool(name_arg="url"), "https://a.example"),
        (chaos.tool("other", name_arg="url"), "https://a.example"),
        (chaos.tool("other", name_arg="missing"), "other"),
    ],
)
def test_mark__name(run: InProcess, decorate: Any, name: str) -> None:
    def task(url: str) -> str:
        return url

    assert decorate(task)("https://a.example") == "https://a.example"
    assert run.events[0][1] == name


def test_mark__on_methods(run: InProcess) -> None:
    class Box:
        @chaos.tool
        def instance(self) -> str:
            return "i"

        @chaos.tool
        @classmethod
        def of_class(cls) -> str:
            return cls.__name__

        @chaos.tool
        @staticmethod
        def static() -> str:
            return "s"

    assert (Box().instance(), Box.of_class(), Box.static()) == ("i", "Box", "s")
    assert [name for kind, name, _ in run.events if kind == "tool.call"] == ["instance", "of_class", "static"]


def test_mark__keeps_what_the_function_is() -> None:
    assert (add.__name__, add.__doc__, inspect.signature(add).parameters["right"].default) == ("add", "Add.", 1)
    assert inspect.iscoroutinefunction(add_later)
    assert inspect.isgeneratorfunction(words)
    assert inspect.isasyncgenfunction(words_later)


def test_outside_a_run__nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(hook.RUN, raising=False)
    assert add(1) == 2
    assert asyncio.run(add_later(1)) == 2
    assert list(words("a b")) == ["a", "b"]
    assert chaos.describe_tool("t", "text") == "text"
    assert chaos.discover_agent("a", {"x": 1}) == {"x": 1}
    assert chaos.output(5) == 5
    assert chaos.seed() is None


def test_describe__records_what_the_model_sees(run: InProcess) -> None:
    run.effects["tool.describe"] = Return("poisoned")
    assert chaos.describe_tool("t", "text") == "poisoned"
    assert run.events == [("tool.describe", "t", {"description": "poisoned"})]


def test_discover__records_the_card(run: InProcess) -> None:
    assert chaos.discover_agent("a", {"url": "x"}) == {"url": "x"}
    assert run.events == [("agent.discover", "a", {"card": {"url": "x"}})]


def test_output__is_recorded_as_partial(run: InProcess) -> None:
    assert chaos.output("so far") == "so far"
    assert run.events == [("output", "partial", {"value": "so far"})]


@pytest.mark.parametrize("function", [add, lambda n: asyncio.run(add_later(n))], ids=["sync", "async"])
def test_repeat__calls_again_and_says_so(run: InProcess, function: Callable[[int], int]) -> None:
    run.effects["tool.call"] = Repeat(2)
    assert function(1) == 2
    assert [(kind, data.get("duplicate")) for kind, _, data in run.events] == [
        ("tool.call", None),
        ("tool.call", True),
        ("tool.call", True),
        ("tool.call.result", None),
    ]


@pytest.mark.parametrize("function", [add, lambda n: asyncio.run(add_later(n))], ids=["sync", "async"])
def test_override__takes_the_place_of_the_call(run: InProcess, function: Callable[[int], int]) -> None:
    run.effects["tool.call"] = Override("forced")
    assert str(function(1)) == "forced"
    assert run.events[-1] == ("tool.call.result", run.events[0][1], {"result": "forced"})


@pytest.mark.parametrize(
    ("effect", "error", "fields"),
    [
        (Raise("ChaosError", "no"), chaos.ChaosError, {"args": ("no",)}),
        (Raise("ChaosTimeout", "late"), TimeoutError, {"args": ("late",)}),
        (Raise("ChaosRateLimit", "429", {"retry_after": 2.5}), chaos.ChaosRateLimit, {"retry_after": 2.5}),
        (
            Raise(
                "ChaosAuthError", "", {"status": 403, "error": "insufficient_scope", "description": "", "scope": "a"}
            ),
            chaos.ChaosAuthError,
            {"status": 403, "scope": "a", "description": "injected auth failure"},
        ),
    ],
    ids=["error", "timeout", "rate limit", "auth"],
)
def test_raise__the_class_and_its_fields(
    run: InProcess, effect: Raise, error: type[Exception], fields: dict[str, Any]
) -> None:
    run.effects["tool.call"] = effect
    with pytest.raises(error) as caught:
        add(1)
    assert isinstance(caught.value, chaos.ChaosError)
    assert {name: getattr(caught.value, name) for name in fields} == fields
    assert [kind for kind, _, _ in run.events] == ["tool.call"]


def test_auth_error__as_a_header() -> None:
    error = chaos.ChaosAuthError(403, "insufficient_scope", "more", "mail")
    assert str(error) == "403 insufficient_scope: more"
    assert error.www_authenticate() == 'Bearer error="insufficient_scope", error_description="more", scope="mail"'


def test_delay__sleeps_in_sync_code(run: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    run.effects["tool.call"] = Delay(3.0)
    assert add(1) == 2
    assert slept == [3.0]


def test_delay__lets_other_tasks_go_on_in_async_code(run: InProcess) -> None:
    run.effects["tool.call"] = Delay(0.05)
    order: list[str] = []

    async def slow() -> None:
        await add_later(1)
        order.append("slow")

    async def fast() -> None:
        order.append("fast")

    async def both() -> None:
        await asyncio.gather(slow(), fast())

    asyncio.run(both())
    assert order == ["fast", "slow"]


@chaos.tool
def words(text: str) -> Iterator[str]:
    yield from text.split()


@chaos.tool
async def words_later(text: str) -> AsyncIterator[str]:
    for word in text.split():
        yield word


async def gather(items: AsyncIterator[str]) -> list[str]:
    return [item async for item in items]


STREAMS = [lambda text: list(words(text)), lambda text: asyncio.run(gather(words_later(text)))]


@pytest.mark.parametrize("stream", STREAMS, ids=["sync", "async"])
def test_generator__is_recorded_as_one_text(run: InProcess, stream: Callable[[str], list[str]]) -> None:
    assert stream("a b c") == ["a", "b", "c"]
    assert run.events[-1][::2] == ("tool.call.result", {"result": "abc"})


@pytest.mark.parametrize("stream", STREAMS, ids=["sync", "async"])
def test_generator__faults_act_on_the_whole(run: InProcess, stream: Callable[[str], list[str]]) -> None:
    run.effects["tool.result"] = Return("abc\ninjected")
    assert stream("a b c") == ["abc\ninjected"]
    assert next(value for point, _, value in run.asked if point == "tool.result") == "abc"


@pytest.mark.parametrize("stream", STREAMS, ids=["sync", "async"])
def test_generator__left_alone_keeps_its_items(run: InProcess, stream: Callable[[str], list[str]]) -> None:
    run.effects["tool.result"] = Return("abc")
    assert stream("a b c") == ["a", "b", "c"]


@pytest.mark.parametrize("stream", STREAMS, ids=["sync", "async"])
def test_generator__repeat_and_override(run: InProcess, stream: Callable[[str], list[str]]) -> None:
    run.effects["tool.call"] = Repeat(1)
    assert stream("a b") == ["a", "b"]
    assert [data.get("duplicate") for kind, _, data in run.events if kind == "tool.call"] == [None, True]
    run.effects["tool.call"] = Override(["x", "y"])
    assert stream("a b") == ["x", "y"]


def test_generator__is_lazy_and_may_be_left_early(run: InProcess) -> None:
    produced: list[int] = []

    @chaos.tool
    def endless() -> Iterator[int]:
        n = 0
        while True:
            produced.append(n)
            yield n
            n += 1

    items = endless()
    assert [next(items), next(items)] == [0, 1]
    items.close()  # type: ignore[attr-defined]
    assert produced == [0, 1]
    assert run.events[-1][2] == {"result": [0, 1]}


def test_generator__its_return_value_arrives(run: InProcess) -> None:
    @chaos.tool
    def counted() -> Any:
        yield 1
        return "end"

    def outer() -> Any:
        return (yield from counted())

    items = outer()
    assert next(items) == 1
    with pytest.raises(StopIteration) as stop:
        next(items)
    assert stop.value.value == "end"


def test_plain_function__that_hands_on_a_coroutine(run: InProcess) -> None:
    @chaos.llm
    def ask(text: str) -> Any:
        async def answer() -> str:
            return text.upper()

        return answer()

    async def main() -> Any:
        return await ask("x")

    run.effects["llm.call"] = Repeat(1)
    assert asyncio.run(main()) == "X"
    assert run.asked[-1] == ("llm.response", "ask", "X")
    assert len([e for e in run.events if e[0] == "llm.call"]) == 2
