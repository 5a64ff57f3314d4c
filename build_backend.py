"""Build with setuptools, and with Zig's C compiler from the package index where the machine has none."""

from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def find_compiler() -> str | None:
    """Return the C compiler that a build would use, None if there is none; on Windows setuptools looks for itself."""
    if os.name == "nt":
        return "msvc"
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(command.split()[0])


def _require_compiler() -> list[str]:
    if find_compiler() is not None:
        return []
    print("no C compiler: compiling with Zig's, from the package ziglang", flush=True)
    return ["ziglang"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """List what building a wheel needs beside what ``pyproject.toml`` names."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_require_compiler()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """List what an editable installation needs beside what ``pyproject.toml`` names."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_require_compiler()]
