"""Take the pictures of the pages of the server for the docs: python -m bench.gallery_web [folder]."""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from app_server import Served
from bench.serve_browser import opened_page
from shardwise.app.examples import EXAMPLES

PICTURES = Path(__file__).parent.parent / "docs" / "images"
SCREEN = {"viewport": {"width": 960, "height": 620}}
LARGEST = 120_000  # bytes


def read_example(key: str) -> tuple[str, bytes]:
    """Name and content of an example."""
    with EXAMPLES[key].open_path() as path:
        return path.name, path.read_bytes()


def send_bytes(served: Served, name: str, content: bytes, kind: str = "compare") -> str:
    """Make an analysis of one file."""
    id: str = served.ask("POST", "/api/analyses", 201, json={"kind": kind})["id"]
    served.ask("PUT", f"/api/analyses/{id}/inputs/{name}", 201, content=content)
    return id


def change_scores(content: bytes) -> bytes:
    """The same table a month later: one system has improved, and one is gone."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    head = [name for name in rows[0] if name != "sys40"]
    best = head.index("sys12")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    for row in rows[1:]:
        kept = row[: len(head)]
        kept[best] = f"{min(1.0, float(kept[best]) + 0.06):.4f}"
        writer.writerow(kept)
    return out.getvalue().encode()


def take_pictures(folder: Path) -> list[Path]:
    """Write a picture of every page."""
    taken = []

    def take(page: Any, name: str) -> None:
        path = folder / f"web-{name}.png"
        page.screenshot(path=path)
        if path.stat().st_size > LARGEST:
            raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")
        taken.append(path)

    with tempfile.TemporaryDirectory() as kept:
        served = Served.start(Path(kept) / "kept")
        try:
            models, trec = read_example("models"), read_example("trec3")
            before = send_bytes(served, *trec)
            served.done(before)
            after = send_bytes(served, trec[0], change_scores(trec[1]))
            served.done(after)
            baseline = send_bytes(served, *trec)
            served.done(baseline, baseline=["sys5"])
            lab = send_bytes(served, *models, kind="calibrate")
            served.done(lab, budget=500)
            with opened_page(served, **SCREEN) as page:
                take(page, "home")
                page.click(f"button:has-text('{EXAMPLES['models'].title}')")
                page.wait_for_selector("#choices")
                take(page, "confirm")
                page.click("button.main")
                page.wait_for_selector("text=Details in the report")
                here = page.url
                take(page, "answer")
                page.click("button.view:text-is('Items')")
                page.wait_for_selector(".sw-items[data-started] .si-lists li")
                take(page, "items")
                for name, path in (
                    ("baseline", f"/a/{baseline}"),
                    ("plan", f"/plan?source={here.rpartition('/')[2]}&topics=90"),
                    ("calibration", f"/a/{lab}"),
                    ("two", f"/compare?with={before}&with={after}"),
                ):
                    page.goto(f"{served.pages}{path}")
                    take(page, name)
        finally:
            served.stop()
    return taken


if __name__ == "__main__":
    for path in take_pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES):
        print(path, f"{path.stat().st_size:,} bytes")
