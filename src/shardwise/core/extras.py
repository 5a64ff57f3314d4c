"""Optional packages: loaded where they are needed; what lacks one is refused with the packages to install."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from shardwise.core.errors import InputError

EXTRAS = {
    "app": ("pages in a browser", "starlette uvicorn python-multipart"),
    "cluster": ("clusters", "dask distributed"),
    "irds": ("judgments by name", "ir-datasets"),
    "netcdf": ("NetCDF files", "h5netcdf h5py"),
    "xlsx": ("Excel workbooks", "openpyxl"),
    "zarr": ("Zarr stores", "zarr"),
    "zst": ("files compressed with zstd", "zstandard"),
}
"""What each extra of ours is for, and the packages that it installs."""

ENDINGS = {
    "netcdf": (".nc", ".nc4", ".netcdf", ".h5"),
    "xlsx": (".xlsx", ".xlsm"),
    "zarr": (".zarr",),
    "zst": (".zst",),
}
"""Endings of the files that need an extra."""


def is_installed(module: str) -> bool:
    """Tell whether an optional package is there, without importing it."""
    try:
        return find_spec(module) is not None
    except ValueError:
        # a module without a specification, which was put among the loaded ones by hand
        return True


def import_if_there(module: str) -> Any:
    """Import a module that only some systems have, such as ``fcntl``; None where it is absent."""
    try:
        return import_module(module)
    except ImportError:
        return None


def require_extra(extra: str, where: object = "") -> None:
    """Refuse what needs an extra of which a package is not installed."""
    purpose, packages = EXTRAS[extra]
    if all(map(is_installed, packages.replace("-", "_").split())):
        return
    verb = "are" if " " in packages else "is"
    raise InputError(
        f"{purpose} need {', '.join(packages.split())}, which {verb} not installed",
        where=str(where),
        remedy=f"run pip install {packages}",
    )


def require_for_files(paths: Iterable[str | os.PathLike[str] | None]) -> None:
    """Refuse the first of several files whose ending needs an extra that is not installed."""
    for path in filter(None, paths):
        for extra, endings in ENDINGS.items():
            if str(path).lower().endswith(endings):
                require_extra(extra, path)


def import_extra(extra: str, where: object = "") -> tuple[Any, ...]:
    """Return the modules of an extra, in the order of its packages, or refuse what they are needed for.

    >>> [module.__name__ for module in import_extra("xlsx")]
    ['openpyxl']
    """
    require_extra(extra, where)
    return tuple(import_module(module) for module in EXTRAS[extra][1].replace("-", "_").split())
