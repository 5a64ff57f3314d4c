"""Compile the Cython modules; everything else about the package stands in ``pyproject.toml``.

One build serves every Python from 3.11 on: extensions keep to the limited API and are tagged ``cp311-abi3``.
``SHARDWISE_BUILD`` chooses the kind of build: ``release`` (default), ``checked`` (every index is checked) or
``sanitize`` (AddressSanitizer and UBSan as well).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from build_backend import find_compiler
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("src")
OLDEST = (3, 11)

KIND = os.environ.get("SHARDWISE_BUILD", "release")
KINDS = ("release", "checked", "sanitize")
CHECKED = KIND != "release"
WORKERS = int(os.environ.get("SHARDWISE_BUILD_JOBS", os.cpu_count() or 1))

# builds that check indexes also take the paths that every machine has
MACROS = [("Py_LIMITED_API", f"0x{OLDEST[0]:02x}{OLDEST[1]:02x}0000"), ("_USE_MATH_DEFINES", "1")]
MACROS += [("SHARDWISE_PORTABLE", "1")] if CHECKED else []

# no contraction into fused operations, so that results are the same bit for bit on every machine
GCC_FLAGS = [
    "-O3",
    "-g0",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
]
SANITIZE_FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-ffp-contract=off"]
MSVC_FLAGS = ["/O2", "/fp:precise"]


class BuildExtensions(build_ext):
    """Compile side by side, with the flags of the compiler at hand, and say how far it is."""

    def build_extensions(self) -> None:
        """Add the compiler's flags to every extension, then compile."""
        msvc = self.compiler.compiler_type == "msvc"
        if not msvc:
            replace_missing_compiler(self.compiler)
        flags = MSVC_FLAGS if msvc else SANITIZE_FLAGS if KIND == "sanitize" else GCC_FLAGS
        for extension in self.extensions:
            extension.extra_compile_args = flags
            if KIND == "sanitize":
                extension.extra_link_args = ["-fsanitize=address,undefined"]
        self.parallel = self.parallel or WORKERS
        self.begun = 0
        print(f"compiling {len(self.extensions)} modules, {self.parallel} at a time", flush=True)
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        """Compile one module; wheels and editable installations take the one beside its sources if that is not older.

        Wheels to be published are compiled in containers of old systems, whatever stands in the tree.
        """
        self.begun += 1
        beside = SOURCES / Path(*ext.name.split(".")).parent / Path(self.get_ext_filename(ext.name)).name
        published = "CIBUILDWHEEL" in os.environ
        if not self.inplace and not published and KIND == "release" and beside.exists():
            used = [*SOURCES.rglob("*.pyx"), *SOURCES.rglob("*.pxd"), *SOURCES.rglob("*.h")]
            if beside.stat().st_mtime >= max(path.stat().st_mtime for path in used):
                target = Path(self.get_ext_fullpath(ext.name))
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.resolve() != beside.resolve():
                    shutil.copy2(beside, target)
                return
        print(f"[{self.begun}/{len(self.extensions)}] {ext.name}", flush=True)
        super().build_extension(ext)


def replace_missing_compiler(compiler) -> None:  # type: ignore[no-untyped-def]
    """Compile with Zig's C compiler (``pip install ziglang``) where the one that Python was built with is absent."""
    if find_compiler() is not None:
        return
    zig = [sys.executable, "-m", "ziglang", "cc"]
    if subprocess.run([*zig, "--version"], capture_output=True).returncode:
        raise SystemExit("no C compiler; install gcc or clang, or pip install ziglang")
    # options of Python's own build are its compiler's, not all of which Zig knows
    compiler.set_executables(
        compiler_so=[*zig, "-fPIC", "-fwrapv", "-DNDEBUG"],
        linker_so=[*zig, "-shared"],
        linker_so_cxx=[*zig, "-shared"],
    )


def find_extensions() -> list[Extension]:
    """Describe one extension for every ``.pyx`` under ``src``."""
    extensions = []
    for path in sorted(SOURCES.rglob("*.pyx")):
        name = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        headers = sorted(map(str, SOURCES.rglob("*.h")))
        extensions.append(
            Extension(
                name,
                [str(path)],
                include_dirs=sorted({str(ROOT / Path(header).parent) for header in headers}),
                depends=headers,
                define_macros=MACROS,
                py_limited_api=True,
            )
        )
    return extensions


def compile_to_c() -> list[Extension]:
    """Translate every ``.pyx`` to C, into a folder of its own for each kind of build."""
    if KIND not in KINDS:
        raise SystemExit(f"SHARDWISE_BUILD={KIND}: unknown kind of build; choose one of {', '.join(KINDS)}")
    extensions: list[Extension] = cythonize(
        find_extensions(),
        build_dir=f"build/cython-{KIND}",
        nthreads=0 if os.name == "nt" else WORKERS,
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "initializedcheck": CHECKED,
            "cdivision": True,
            "embedsignature": False,
        },
    )
    return extensions


os.chdir(ROOT)
setup(
    ext_modules=compile_to_c(),
    cmdclass={"build_ext": BuildExtensions},
    options={"bdist_wheel": {"py_limited_api": f"cp{OLDEST[0]}{OLDEST[1]}"}},
)
