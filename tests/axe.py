"""Accessibility of pages by axe-core, which npm fetches once into the environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

VERSION = "4.10.3"
SERIOUS = ("serious", "critical")


@cache
def axe_script() -> str:
    """The text of axe.min.js: from SHARDWISE_AXE, the cache of this environment, or npm; else the test skips."""
    kept = Path(os.environ.get("SHARDWISE_AXE") or Path(sys.prefix) / "share" / f"axe-core-{VERSION}.min.js")
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no axe-core (install npm, or set SHARDWISE_AXE to axe.min.js)")
    # each worker of the tests may fetch its own at the same time
    with tempfile.TemporaryDirectory() as folder:
        try:
            packed = subprocess.run(
                [npm, "pack", "--silent", f"axe-core@{VERSION}"],
                cwd=folder, capture_output=True, text=True, check=True, timeout=60,
            )  # fmt: skip
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"axe-core cannot be fetched ({error})")
        with tarfile.open(Path(folder) / packed.stdout.split()[-1]) as file:
            member = file.extractfile("package/axe.min.js")
            assert member is not None
            text = member.read().decode("utf-8")
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(kept)
    return text


def list_findings(page: Any, within: str = "html") -> list[str]:
    """Serious and critical findings of axe-core on a page as it is shown now: rule, element, what is wrong."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(axe_script())
    violations = page.evaluate(
        "async (within) => (await axe.run(within, { resultTypes: ['violations'] })).violations", within
    )
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary'].splitlines()[-1].strip()}"
        for rule in violations
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]
