"""Optional packages: imported where they are needed; where one is absent, the extra that installs it is named."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from shardwise.core.errors import InputError

EXTRAS = {
    "distributed": "cluster",
    "h5netcdf": "netcdf",
    "h5py": "netcdf",
    "ir_datasets": "irds",
    "openpyxl": "xlsx",
    "python_multipart": "app",
    "starlette": "app",
    "uvicorn": "app",
    "vl_convert": "charts",
    "zarr": "zarr",
}
"""Module of each optional package, and the extra of ours that installs it."""


def is_installed(module: str) -> bool:
    """Tell whether an optional package is there, without importing it."""
    try:
        return find_spec(module) is not None
    except ValueError:
        # a module that stands for one that is absent
        return False


def import_if_there(module: str) -> Any:
    """Import a module that only some systems have, such as ``fcntl``; None where it is absent."""
    try:
        return import_module(module)
    except ImportError:
        return None


def import_extra(module: str, purpose: str) -> Any:
    """Import an optional package, or refuse what it is needed for.

    Parameters
    ----------
    module : str
        Its name, one of `EXTRAS`.
    purpose : str
        What needs it, in the plural: ``"NetCDF files"``.

    Returns
    -------
    module
        The package.

    >>> import_extra("openpyxl", "Excel workbooks").__name__
    'openpyxl'
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f"{purpose} need {module}, which is not installed",
            remedy=f"pip install 'shardwise[{EXTRAS[module]}]'",
        ) from None
