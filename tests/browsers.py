"""A browser for the tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip


def find_program() -> str | None:
    """Chromium, where there is one."""
    return os.environ.get("SHARDWISE_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = find_program()
    if program is None:
        pytest.skip("no Chromium (apt-get install chromium-headless-shell, or set SHARDWISE_CHROMIUM)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
    )
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield found
        found.close()
