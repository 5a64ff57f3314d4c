"""Wheels and editable installations come with compiled kernels, so that the first command need not compile them.

Compiling takes the library's own dependencies and about a minute. SHARDWISE_KERNELS=0 leaves it out, and where it fails
the package is built without: kernels are then compiled at their first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
FOLDER = "src/shardwise/compiled"


class KernelHook(BuildHookInterface[Any]):
    """Compile the kernels before the package is put together."""

    def dependencies(self) -> list[str]:
        """What compiling needs in the environment of the build: all that the library needs."""
        return self.metadata.core.dependencies if wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and take the compiled code into the wheel; ``version`` says which kind of wheel it is."""
        if not wanted():
            return
        sources = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
        made = subprocess.run(
            [sys.executable, str(ROOT / "make_kernels.py")], env={**os.environ, "PYTHONPATH": sources}
        )
        if made.returncode:
            self.app.display_warning("kernels were not compiled, and will be at their first use")
        elif version == "standard":
            build_data["artifacts"].append(f"/{FOLDER}/")


def wanted() -> bool:
    """Whether kernels are to be compiled."""
    return os.environ.get("SHARDWISE_KERNELS", "1") != "0"
