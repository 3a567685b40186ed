"""What every test may use: golden files."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites golden files, and let interrupts through."""
    # Where the tests themselves are started in the background, SIGINT is ignored, and every child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `check(name, text)`: the text must equal the file of that name in tests/golden."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_bytes(text.encode())
        assert text == path.read_bytes().decode(), f"{name} differs; rewrite it with --update-golden if that is meant"

    return check
