"""Draw the picture of the report: the demonstration is run, and Chromium photographs the top of its page.

``python docs/make_images.py`` writes ``docs/images/report.png``; charts and case study have programs of their own
(``bench/gallery.py``, ``bench/gallery_pages.py``, ``examples/selective_search/charts.py``).
"""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from shardwise.cli.main import run_command

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
SIZE = (1100, 1560)
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def photograph_page(page: Path, picture: Path, size: tuple[int, int] = SIZE) -> None:
    """Photograph the top of a page.

    Parameters
    ----------
    page : Path
        An HTML file that loads nothing.
    picture : Path
        The PNG file to write.
    size : tuple of int
        Width and height in pixels.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit("no Chromium; install chromium-headless-shell")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}"]
    # scripts have drawn what they draw after so many milliseconds of the page's own clock
    options.append("--virtual-time-budget=3000")
    subprocess.run(
        [program, *options, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True
    )


def main() -> None:
    """Run the demonstration and photograph its report."""
    silent = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), silent:
        run_command(["demo", "--quiet"])
        photograph_page(Path(folder) / "demo" / "report.html", PICTURE)


if __name__ == "__main__":
    main()
