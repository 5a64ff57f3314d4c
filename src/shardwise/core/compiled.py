"""Kernels that come compiled with the package, so that the first command need not compile them.

numba keeps compiled code for the one processor that it was compiled on. What ``make kernels`` compiles is for a common
kind of processor instead, and lies in the folder ``compiled`` of the package, in a folder for each of the package's. It
is looked for there where numba has none of its own, and used if the sources, numba and Python are those that it was
compiled with and this processor has all that it needs; otherwise the kernel is compiled at its first use, as ever.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
FOLDER = "compiled"
TARGETS = {
    "x86_64": (
        "x86-64-v3",
        "+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,"
        "+sse3,+sse4.1,+sse4.2,+ssse3,+xsave",
    ),
}  # what is compiled for: the name of a processor and all that it must have, as LLVM calls them


def njit(*, cache: bool = False, **options: Any) -> Callable[[Function], Function]:
    """numba.njit, whose cache also looks among the kernels that came with the package."""

    def compile(function: Function) -> Function:
        kernel: Any = numba.njit(**options)(function)
        if cache and kernel is not function:  # which it is where compiling is switched off
            kernel._cache = CompiledCache(function)
        compiled: Function = kernel
        return compiled

    return compile


class CompiledCache(FunctionCache):  # type: ignore[misc]
    """What numba has kept of a kernel, or else what came with the package."""

    def save_overload(self, sig: object, data: object) -> None:
        """Keep a kernel; where that fails, as on the full disk of a worker, it is used all the same."""
        try:
            super().save_overload(sig, data)
        except OSError:  # an index is written before the code that it names, and would name an older one
            Path(self._cache_file._index_path).unlink(missing_ok=True)

    def _load_overload(self, sig: object, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        usable = _usable()
        if found is not None or usable is None or not self._enabled:
            return found
        codegen = target_context.codegen()
        _, _, code = self._index_key(sig, codegen)
        key = sig, (codegen.magic_tuple()[0], *usable), code
        folder = (
            PACKAGE / FOLDER / Path(self._py_func.__code__.co_filename).resolve().parent.relative_to(PACKAGE)
        )
        try:
            data = IndexDataCacheFile(str(folder), self._impl.filename_base, stamp(PACKAGE)).load(key)
            return data if data is None else self._impl.rebuild(target_context, data)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None


@cache
def stamp(package: Path) -> bytes:
    """A digest of all sources in folders with kernels: compiled code holds the code and constants of its neighbours."""
    sources = {path: path.read_bytes() for path in sorted(package.rglob("*.py"))}
    uses = f"{__name__} import".encode()
    rooms = {path.parent for path, source in sources.items() if uses in source}
    digest = hashlib.sha256()
    for path, source in sources.items():
        if path.parent in rooms:
            digest.update(str(path.relative_to(package)).encode() + b"\0" + source + b"\0")
    return digest.digest()


def target() -> tuple[str, str] | None:
    """What kernels are compiled for on machines of this kind, if anything."""
    return TARGETS.get(llvmlite.binding.get_default_triple().partition("-")[0])


@cache
def _usable() -> tuple[str, str] | None:
    """The target of the kernels that came with the package, if this processor can run them and nobody wants others."""
    wanted = target()
    others = numba.config.CPU_NAME or numba.config.CPU_FEATURES or numba.config.BOUNDSCHECK
    if wanted is None or others or not (PACKAGE / FOLDER).is_dir():
        return None
    here = llvmlite.binding.get_host_cpu_features()
    return wanted if all(here.get(need.removeprefix("+")) for need in wanted[1].split(",")) else None
