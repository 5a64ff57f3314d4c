"""One server for all tests of the app that need a real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip(
    "starlette", reason="the app is not installed (pip install starlette uvicorn python-multipart)"
)

from app_server import Served
from browsers import browser

__all__ = ["browser", "served"]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served.start(
        tmp_path_factory.mktemp("serve"), "--jobs", "1", "--limit", "400", "--max-memory", "1000MB"
    )
    yield made
    made.stop()
