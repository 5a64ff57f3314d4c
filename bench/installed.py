"""How large an installation is, what a command loads, how long it takes to start: python -m bench.installed [WHEEL].

An environment of its own gets the wheel, or the sources if none is named, without any extra.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
ROUNDS = 9
MODULES = (
    "import sys\nfrom shardwise.cli.main import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
    "sys.stderr.write(str(len(sys.modules)))"
)


def run(source: str) -> str:
    """Markdown table of an installation from a wheel or a folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment, table = Path(folder) / "environment", Path(folder) / "small.csv"
        values = np.random.default_rng(1).random((50, 4)).round(3)
        lines = [f"q{i},{','.join(map(str, row))}" for i, row in enumerate(values.tolist())]
        table.write_text("\n".join(["question,a,b,c,d", *lines]) + "\n")
        venv.create(environment, with_pip=True)
        binaries = environment / ("Scripts" if os.name == "nt" else "bin")
        python, compare = str(binaries / "python"), [str(binaries / "shardwise"), "compare", str(table), "-q"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", source], check=True)
        start = {"import pandas": [python, "-c", "import pandas"], "compare small.csv": compare}
        start |= {"import shardwise": [python, "-c", "import shardwise"], "Python alone": [python, "-c", ""]}
        times = alternate(start)
        words = [python, "-c", MODULES, *compare[1:]]
        modules = subprocess.run(words, capture_output=True, text=True, check=True).stderr
        rows = [
            f"| installed size without byte code, MB | {size_of(environment):.0f} |",
            f"| modules that `compare small.csv` loads | {modules} |",
            *(f"| `{name}`, s | {seconds:.3f} |" for name, seconds in times.items()),
            "| `compare small.csv` over `import pandas` |"
            f" {times['compare small.csv'] / times['import pandas']:.2f} |",
        ]
    head = (
        f"Times are medians of {ROUNDS} alternating runs with warm files.\n\n| figure | value |\n|---|---:|\n"
    )
    return head + "\n".join(rows)


def size_of(environment: Path) -> float:
    """Megabytes of the packages of an environment without pip and byte code."""
    packages = next(environment.rglob("site-packages"))
    sizes = (
        path.stat().st_size
        for path in packages.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and path.relative_to(packages).parts[0] not in ("pip", "setuptools")
    )
    return sum(sizes) / 2**20


def alternate(commands: dict[str, list[str]]) -> dict[str, float]:
    """Median seconds of each command, all in turn; the first round, which warms files, does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS + 1):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}


if __name__ == "__main__":
    print(run(sys.argv[1] if len(sys.argv) > 1 else str(ROOT)))
