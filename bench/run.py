"""Run all benchmarks and write their tables where the documentation includes them."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

# two threads fighting over two cores slow the peers down at random
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

PARTS = (
    "start",
    "collection",
    "papers",
    "studentized_range",
    "anova",
    "bootstrap",
    "instances",
    "paired",
    "laboratory",
    "tables",
    "scale",
    "streaming",
    "growth",
    "serve",
    "serve_browser",
)
TABLES = Path(__file__).parent.parent / "docs" / "bench"


def main() -> None:
    TABLES.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PARTS:
        table = importlib.import_module(f"bench.{name}").run()
        (TABLES / f"{name}.md").write_text(table + "\n")
        print(f"\n## {name}\n\n{table}", flush=True)


if __name__ == "__main__":
    main()
