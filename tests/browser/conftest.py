"""The browser, started once for all of these tests; without /usr/bin/chromium they are skipped."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import BINARY, Chromium, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Return a running Chromium."""
    if not BINARY.exists():
        pytest.fail(f"needs {BINARY}: make test-browser")
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def page(tmp_path: Path) -> Callable[[str], str]:
    """Return `address(html)`: the page as a file, by its address."""

    def write(html: str) -> str:
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        return path.as_uri()

    return write
