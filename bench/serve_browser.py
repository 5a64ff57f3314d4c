"""The page of the server in a browser: from the click to the answer, and to the error rates."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from playwright.sync_api import sync_playwright

from app_server import TOKEN, Served
from browsers import ARGUMENTS, find_program
from shardwise.app.examples import EXAMPLES

PATIENCE = 300_000  # milliseconds
IDLE = 15.0  # seconds in which a worker loads and rehearses


@contextmanager
def opened_page(served: Served, **context: Any) -> Iterator[Any]:
    """A page of a browser that has come in by the token."""
    program = find_program()
    if program is None:
        raise SystemExit("no Chromium (apt-get install chromium-headless-shell, or set SHARDWISE_CHROMIUM)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = browser.new_context(**context).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{served.address}/?token={TOKEN}")
        yield page
        browser.close()


def time_example(page: Any, address: str, title: str) -> tuple[float, float, float]:
    """Seconds from the click on an example to its reading, and from the click on Compare to answer and error rates."""
    page.goto(address)
    start = time.perf_counter()
    page.click(f"button:has-text('{title}')")
    page.wait_for_selector("#choices")
    read = time.perf_counter() - start
    start = time.perf_counter()
    page.click("button.main")
    page.wait_for_selector("#headline")
    answered = time.perf_counter() - start
    page.wait_for_selector("text=Details in the report")
    return read, answered, time.perf_counter() - start


def run() -> str:
    """Markdown table of seconds."""
    lines = [
        "`shardwise serve` in Chromium, example data of the first page. *Reading*: from the click on the example to the"
        " page that says how it is understood. *Answer*, *error rates*: from the click on Compare. *Cold*: the server"
        f" has just started; *warm*: it has been idle for {IDLE:.0f} s.",
        "",
        "| example | worker | reading, s | answer, s | error rates, s |",
        "|---|---|---:|---:|---:|",
    ]
    for example in EXAMPLES.values():
        with tempfile.TemporaryDirectory() as name:
            served = Served.start(Path(name) / "kept", "--jobs", "1")
            try:
                with opened_page(served) as page:
                    for state in ("cold", "warm"):
                        if state == "warm":
                            time.sleep(IDLE)
                        seconds = time_example(page, f"{served.pages}/", example.title)
                        cells = " | ".join(f"{value:.1f}" for value in seconds)
                        lines.append(f"| {example.title} | {state} | {cells} |")
            finally:
                served.stop()
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
