"""Photograph the reports of docs/output.md: python -m bench.gallery_pages [folder]."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from docs.make_images import photograph_page

import shardwise as sw
from bench.pages import simulate_scores
from shardwise.writing.html import write_report

PICTURES = Path(__file__).parent.parent / "docs" / "images"
REPORTS = {"two": (2, 50), "twenty": (20, 50), "many": (126, 50)}
"""Systems and topics of each report."""
SIZE = (920, 860)


def draw_reports(folder: Path) -> None:
    """Write three reports of simulated scores and photograph the top of each."""
    for name, (systems, topics) in REPORTS.items():
        with tempfile.TemporaryDirectory() as made:
            page = Path(made) / "report.html"
            write_report(page, sw.analyze(simulate_scores(systems, topics), calibration=0))
            photograph_page(page, folder / f"report-{name}.png", SIZE)
        print(f"report-{name}", flush=True)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    draw_reports(folder)


if __name__ == "__main__":
    main()
